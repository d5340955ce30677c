#include "segre/kernels/adam_kernel.h"

#include "segre/kernels/simd.h"

namespace segre::kernels {
namespace {

struct Numbers {
  float beta1, rest1, beta2, rest2, eps, rate, inverse_root, keep, fresh;
};

SEGRE_MULTIVERSION
void adam_range(float* __restrict w, const float* __restrict g, float* __restrict m, float* __restrict v,
                float* __restrict a, int64_t count, Numbers k) {
  for (int64_t i = 0; i < count; ++i) {
    m[i] = k.beta1 * m[i] + k.rest1 * g[i];
    v[i] = k.beta2 * v[i] + k.rest2 * (g[i] * g[i]);
    w[i] -= k.rate * m[i] / (__builtin_sqrtf(v[i]) * k.inverse_root + k.eps);
    a[i] = k.keep * a[i] + k.fresh * w[i];
  }
}

}  // namespace

void adam_(const torch::Tensor& weight, const torch::Tensor& gradient, const torch::Tensor& m, const torch::Tensor& v,
           const torch::Tensor& average, const AdamStep& step) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const Numbers k{f(step.beta1), f(1.0 - step.beta1),  f(step.beta2), f(1.0 - step.beta2), f(step.eps),
                  f(step.rate),  f(step.inverse_root), f(step.keep),  f(1.0 - step.keep)};
  const auto g = gradient.contiguous();
  auto* w_at = weight.data_ptr<float>();
  const auto* g_at = g.data_ptr<float>();
  auto* m_at = m.data_ptr<float>();
  auto* v_at = v.data_ptr<float>();
  auto* a_at = average.data_ptr<float>();
  constexpr int64_t kGrain = 1 << 15;
  at::parallel_for(0, weight.numel(), kGrain, [&](int64_t begin, int64_t end) {
    adam_range(w_at + begin, g_at + begin, m_at + begin, v_at + begin, a_at + begin, end - begin, k);
  });
}

void adam_plain_(const torch::Tensor& weight, const torch::Tensor& gradient, const torch::Tensor& m,
                 const torch::Tensor& v, const torch::Tensor& average, const AdamStep& step) {
  m.mul_(step.beta1).add_(gradient, 1.0 - step.beta1);
  v.mul_(step.beta2).addcmul_(gradient, gradient, 1.0 - step.beta2);
  weight.addcdiv_(m, v.sqrt().mul_(step.inverse_root).add_(step.eps), -step.rate);
  average.lerp_(weight, 1.0 - step.keep);
}

}  // namespace segre::kernels
