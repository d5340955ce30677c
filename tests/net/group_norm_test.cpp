#include "segre/net/group_norm.h"

#include "segre/kernels/group_norm.h"
#include "tests/support/support.h"

namespace segre::group_norm_test {
namespace {

using test::max_difference;
using test::noise;

constexpr int64_t kGroups = 4;

struct Inputs {
  torch::Tensor x, gamma, beta, shift;

  Inputs(torch::ScalarType type, bool with_shift)
      : x(leaf({2, 5, 12}, 1, type)),
        gamma(leaf({12}, 2, type)),
        beta(leaf({12}, 3, type)),
        shift(with_shift ? leaf({2, 12}, 4, type) : torch::Tensor()) {}

  static torch::Tensor leaf(at::IntArrayRef shape, uint64_t seed, torch::ScalarType type) {
    return noise(shape, seed).to(type).requires_grad_();
  }
  // A loss that weighs every entry differently; gradients land in the leaves.
  double loss(NormActivation activation) const {
    const auto y = group_norm(x, gamma, beta, shift, kGroups, activation);
    const auto out = (y * noise({2, 5, 12}, 5).to(y.scalar_type())).sum();
    out.backward();
    return out.item<double>();
  }
};

TEST(GroupNormLayer, FusedGradientsEqualThoseOfPlainLibTorch) {
  constexpr double kTol = 2e-5;  // float32 against float64, gradients of size 5
  for (const bool with_shift : {false, true})
    for (const auto activation : {NormActivation::none, NormActivation::silu}) {
      const Inputs single(torch::kFloat32, with_shift), exact(torch::kFloat64, with_shift);
      EXPECT_NEAR(single.loss(activation), exact.loss(activation), kTol);
      EXPECT_LT(max_difference(single.x.grad(), exact.x.grad()), kTol);
      EXPECT_LT(max_difference(single.gamma.grad(), exact.gamma.grad()), kTol);
      EXPECT_LT(max_difference(single.beta.grad(), exact.beta.grad()), kTol);
      if (!with_shift) continue;
      EXPECT_LT(max_difference(single.shift.grad(), exact.shift.grad()), kTol);
    }
}

TEST(GroupNormLayer, ImagesStoredChannelsLastNeedNoCopy) {
  const auto image = noise({2, 12, 3, 4}, 1, torch::kFloat32).contiguous(at::MemoryFormat::ChannelsLast);
  const auto x = image.permute({0, 2, 3, 1}).view({2, 12, 12});
  ASSERT_EQ(x.data_ptr(), image.data_ptr());
  const auto y = group_norm(x, torch::ones({12}), torch::zeros({12}), {}, kGroups, NormActivation::none);
  const auto expected = torch::group_norm(image, kGroups);
  EXPECT_LT(max_difference(y.view({2, 3, 4, 12}).permute({0, 3, 1, 2}), expected), 1e-5);  // float32 of size 1
}

TEST(GroupNormLayer, OtherTypesKeepTheirType) {
  const auto x = noise({2, 5, 12}, 1);
  const auto gamma = torch::ones({12}), beta = torch::zeros({12});
  for (const auto type : {torch::kFloat64, torch::kBFloat16})
    EXPECT_EQ(group_norm(x.to(type), gamma, beta, {}, kGroups, NormActivation::silu).scalar_type(), type);
}

TEST(GroupNormLayer, TransposedInputsAreTaken) {
  const auto x = noise({2, 12, 5}, 1, torch::kFloat32);
  const auto gamma = torch::ones({12}), beta = torch::zeros({12});
  const auto found = group_norm(x.transpose(1, 2), gamma, beta, {}, kGroups, NormActivation::silu);
  const auto expected = group_norm(x.transpose(1, 2).contiguous(), gamma, beta, {}, kGroups, NormActivation::silu);
  EXPECT_TRUE(torch::equal(found, expected));
}

TEST(GroupNormLayer, CudaAgreesWithTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto run = [](torch::Device device) {
    const auto x = noise({3, 20, 64}, 1, torch::kFloat32).to(device).requires_grad_();
    const auto gamma = (1.0 + 0.1 * noise({64}, 2, torch::kFloat32)).to(device).requires_grad_();
    const auto shift = noise({3, 64}, 3, torch::kFloat32).to(device).requires_grad_();
    const auto y = group_norm(x, gamma, torch::zeros({64}, device), shift, 32, NormActivation::silu);
    y.square().sum().backward();
    return std::vector{y.detach().cpu(), x.grad().cpu(), gamma.grad().cpu(), shift.grad().cpu()};
  };
  const auto here = run(torch::kCPU), there = run(torch::kCUDA);
  for (size_t k = 0; k < here.size(); ++k)
    EXPECT_LT(max_difference(here[k], there[k]), 1e-5 * here[k].abs().max().item<double>()) << k;
}

}  // namespace
}  // namespace segre::group_norm_test
