#include "segre/net/bias.h"

#include "tests/support/support.h"

namespace segre::bias_test {
namespace {

using test::max_difference;
using test::noise;

TEST(AddBias, GradientsEqualThoseOfPlainLibTorch) {
  const auto weight = noise({9, 5}, 4);
  for (const bool with_skip : {false, true}) {
    const auto gradients = [&](torch::ScalarType type) {
      const auto leaf = [&](at::IntArrayRef shape, uint64_t seed) {
        return noise(shape, seed).to(type).requires_grad_();
      };
      const auto h = leaf({9, 5}, 1), skip = leaf({9, 5}, 2), bias = leaf({5}, 3);
      const auto y = add_bias(h, with_skip ? skip : torch::Tensor(), bias);
      (y * weight.to(type)).sum().backward();
      std::vector<torch::Tensor> out{y.detach(), h.grad(), bias.grad()};
      if (with_skip) out.push_back(skip.grad());
      return out;
    };
    const auto fused = gradients(torch::kFloat32), plain = gradients(torch::kFloat64);
    for (size_t k = 0; k < plain.size(); ++k) EXPECT_LT(max_difference(fused[k], plain[k]), 2e-6) << k;  // sums of 9
  }
}

TEST(AddBias, AFrozenBiasCostsNoSum) {
  const auto h = noise({9, 5}, 1, torch::kFloat32).requires_grad_();
  const auto bias = torch::ones({5});
  add_bias(h, {}, bias).sum().backward();
  EXPECT_TRUE(torch::equal(h.grad(), torch::ones({9, 5})));
  EXPECT_FALSE(bias.grad().defined());
}

TEST(AddBias, OtherTypesKeepTheirType) {
  const auto bias = torch::ones({5});
  for (const auto type : {torch::kFloat64, torch::kBFloat16})
    EXPECT_EQ(add_bias(noise({9, 5}, 1).to(type), {}, bias).scalar_type(), type);
}

}  // namespace
}  // namespace segre::bias_test
