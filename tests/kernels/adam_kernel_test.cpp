#include "segre/kernels/adam_kernel.h"

#include <cmath>

#include "tests/support/reference.h"

namespace segre::kernels::adam_kernel_test {
namespace {

using test::max_difference;
using test::noise;

constexpr int kSteps = 10;
constexpr double kBeta1 = 0.9, kBeta2 = 0.99, kEps = 1e-8, kRate = 0.01, kKeep = 0.95;
// Ten float32 steps of size 0.01 on weights of size 4.
constexpr double kSingleTol = 5e-6;

AdamStep numbers(int k) {
  return {kBeta1, kBeta2, kEps, kRate / (1.0 - std::pow(kBeta1, k)), 1.0 / std::sqrt(1.0 - std::pow(kBeta2, k)), kKeep};
}

// Weight, first and second moment, average.
struct State {
  State(int64_t count, torch::TensorOptions options)
      : w(noise({count}, 1, options)),
        m(torch::zeros({count}, options)),
        v(torch::zeros({count}, options)),
        a(w.clone()) {}
  torch::Tensor w, m, v, a;
};

torch::Tensor gradient(int64_t count, int k, torch::TensorOptions options) {
  return noise({count}, static_cast<uint64_t>(100 + k), options);
}

TEST(AdamKernel, FusedEqualsThePlainTwin) {
  for (const int64_t count : {1, 15, 17, 1000, 100'000}) {
    State fused(count, torch::kFloat32);
    State plain(count, torch::kFloat64);
    for (int k = 1; k <= kSteps; ++k) {
      adam_(fused.w, gradient(count, k, torch::kFloat32), fused.m, fused.v, fused.a, numbers(k));
      adam_plain_(plain.w, gradient(count, k, torch::kFloat64), plain.m, plain.v, plain.a, numbers(k));
    }
    EXPECT_LT(max_difference(fused.w, plain.w), kSingleTol) << count;
    EXPECT_LT(max_difference(fused.m, plain.m), kSingleTol) << count;
    EXPECT_LT(max_difference(fused.v, plain.v), kSingleTol) << count;
    EXPECT_LT(max_difference(fused.a, plain.a), kSingleTol) << count;
  }
}

TEST(AdamKernel, PlainTwinIsTheFormula) {
  constexpr int64_t kCount = 20;
  State state(kCount, torch::kFloat64);
  auto w = test::values_of(state.w);
  auto a = w;
  test::Row m(kCount, 0.0);
  test::Row v(kCount, 0.0);
  for (int k = 1; k <= kSteps; ++k) {
    const auto g_tensor = gradient(kCount, k, torch::kFloat64);
    const auto g = test::values_of(g_tensor);
    for (size_t i = 0; i < kCount; ++i) {
      m[i] = kBeta1 * m[i] + (1.0 - kBeta1) * g[i];
      v[i] = kBeta2 * v[i] + (1.0 - kBeta2) * g[i] * g[i];
      const double m_hat = m[i] / (1.0 - std::pow(kBeta1, k));
      const double v_hat = v[i] / (1.0 - std::pow(kBeta2, k));
      w[i] -= kRate * m_hat / (std::sqrt(v_hat) + kEps);
      a[i] = kKeep * a[i] + (1.0 - kKeep) * w[i];
    }
    adam_plain_(state.w, g_tensor, state.m, state.v, state.a, numbers(k));
  }
  constexpr double kRounding = 1e-14;  // ten float64 steps of size 0.01
  EXPECT_LT(max_difference(state.w, test::tensor_of(w)), kRounding);
  EXPECT_LT(max_difference(state.a, test::tensor_of(a)), kRounding);
}

TEST(AdamKernel, ZeroGradientsMoveNothing) {
  State state(7, torch::kFloat32);
  const auto before = state.w.clone();
  adam_(state.w, torch::zeros({7}), state.m, state.v, state.a, numbers(1));
  EXPECT_TRUE(torch::equal(state.w, before));
}

}  // namespace
}  // namespace segre::kernels::adam_kernel_test
