#include "segre/kernels/adam_kernel.h"

#include "segre/core/parallel.h"
#include "segre/core/simd.h"

namespace segre::kernels {
namespace {

SEGRE_MULTIVERSION
void adam_range(float* __restrict w, const float* __restrict g, float* __restrict m, float* __restrict v,
                float* __restrict a, int64_t count, const std::array<float, 9>& numbers) {
  const auto [beta1, rest1, beta2, rest2, eps, rate, inverse_root, keep, fresh] = numbers;
  for (int64_t i = 0; i < count; ++i) {
    m[i] = beta1 * m[i] + rest1 * g[i];
    v[i] = beta2 * v[i] + rest2 * (g[i] * g[i]);
    w[i] -= rate * m[i] / (__builtin_sqrtf(v[i]) * inverse_root + eps);
    a[i] = keep * a[i] + fresh * w[i];
  }
}

}  // namespace

std::array<float, 9> adam_numbers(const AdamStep& s) {
  const auto f = [](double x) { return static_cast<float>(x); };
  return {f(s.beta1), f(1.0 - s.beta1),  f(s.beta2), f(1.0 - s.beta2), f(s.eps),
          f(s.rate),  f(s.inverse_root), f(s.keep),  f(1.0 - s.keep)};
}

void adam_(const torch::Tensor& weight, const torch::Tensor& gradient, const torch::Tensor& m, const torch::Tensor& v,
           const torch::Tensor& average, const AdamStep& step) {
  const auto k = adam_numbers(step);
  auto* w_at = weight.data_ptr<float>();
  const auto* g_at = gradient.data_ptr<float>();
  auto* m_at = m.data_ptr<float>();
  auto* v_at = v.data_ptr<float>();
  auto* a_at = average.data_ptr<float>();
  constexpr int64_t kGrain = 1 << 15;
  parallel_for(0, weight.numel(), kGrain, [&](int64_t begin, int64_t end) {
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
