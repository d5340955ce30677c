#include "segre/kernels/bias.h"

#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::kernels::bias_test {
namespace {

using test::max_difference;
using test::noise;

// Rows around the blocks of 128 and of 8, widths around a vector register and a pack.
constexpr int64_t kRows[] = {1, 7, 128, 129, 1000};
constexpr int64_t kWidths[] = {1, 15, 32, 36, 96, 256};

template <class Check>
void for_all_shapes(Check&& check) {
  for (const int64_t M : kRows)
    for (const int64_t C : kWidths) {
      SCOPED_TRACE(concat(M, " x ", C));
      check(M, C);
    }
}

TEST(Bias, FusedAdditionEqualsItsTwin) {
  for_all_shapes([](int64_t M, int64_t C) {
    const auto h = noise({M, C}, 1, torch::kFloat32), skip = noise({M, C}, 2, torch::kFloat32);
    const auto bias = noise({C}, 3, torch::kFloat32);
    // The same additions in the same order: the same bits.
    EXPECT_TRUE(torch::equal(add_bias(h, skip, bias), add_bias_plain(h, skip, bias)));
    EXPECT_TRUE(torch::equal(add_bias(h, {}, bias), h + bias));
  });
}

TEST(Bias, ColumnSumEqualsItsTwin) {
  for_all_shapes([](int64_t M, int64_t C) {
    const auto x = noise({M, C}, 1, torch::kFloat32);
    // Float32 sums of up to 1000 numbers of size 1.
    EXPECT_LT(max_difference(column_sum(x), x.to(torch::kFloat64).sum(0)), 3e-5);
  });
}

TEST(Bias, ColumnSumDoesNotDependOnTheNumberOfThreads) {
  const auto x = noise({5000, 33}, 1, torch::kFloat32);
  const auto with = [&](int count) {
    const test::Threads threads(count);
    return column_sum(x);
  };
  EXPECT_TRUE(torch::equal(with(1), with(2)));
}

TEST(Bias, RefusesWhatDoesNotFit) {
  const auto h = noise({3, 8}, 1, torch::kFloat32);
  EXPECT_THROW(add_bias(h, {}, torch::ones({7})), Error);
  EXPECT_THROW(add_bias(h, noise({3, 7}, 1, torch::kFloat32), torch::ones({8})), Error);
  EXPECT_THROW(add_bias(h, {}, torch::ones({8}, torch::kFloat64)), Error);
  EXPECT_THROW(column_sum(h.t()), Error);
  EXPECT_FALSE(bias_serves(h.to(torch::kFloat64)));
}

TEST(Bias, CudaEqualsTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_shapes([](int64_t M, int64_t C) {
    const auto h = noise({M, C}, 1, torch::kFloat32), skip = noise({M, C}, 2, torch::kFloat32);
    const auto bias = noise({C}, 3, torch::kFloat32);
    const auto there = [](const torch::Tensor& x) { return x.to(torch::kCUDA); };
    EXPECT_TRUE(torch::equal(add_bias(there(h), there(skip), there(bias)).cpu(), add_bias(h, skip, bias)));
    EXPECT_TRUE(torch::equal(add_bias(there(h), {}, there(bias)).cpu(), add_bias(h, {}, bias)));
    EXPECT_LT(max_difference(column_sum(there(h)).cpu(), h.to(torch::kFloat64).sum(0)), 3e-5);
  });
}

TEST(Bias, CudaInBfloat16EqualsFloat32Rounded_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for_all_shapes([](int64_t M, int64_t C) {
    const auto h = noise({M, C}, 1).to(torch::kBFloat16), skip = noise({M, C}, 2).to(torch::kBFloat16);
    const auto bias = noise({C}, 3, torch::kFloat32);
    const auto single = [](const torch::Tensor& x) { return x.to(torch::kFloat32); };
    const auto there = [](const torch::Tensor& x) { return x.to(torch::kCUDA); };
    const auto found = add_bias(there(h), there(skip), there(bias)).cpu();
    // Computed in float32 and rounded once: the same bits.
    EXPECT_TRUE(torch::equal(found, add_bias(single(h), single(skip), bias).to(torch::kBFloat16)));
    EXPECT_LT(max_difference(column_sum(there(h)).cpu(), h.to(torch::kFloat64).sum(0)), 3e-5);
  });
}

TEST(Bias, CudaSumsOfManyRowsAreTheSameBitsEveryTime_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto x = noise({100'003, 64}, 1, torch::kFloat32);
  const auto there = x.to(torch::kCUDA);
  const auto sum = column_sum(there);
  EXPECT_TRUE(torch::equal(sum, column_sum(there)));
  EXPECT_LT(max_difference(sum.cpu(), x.to(torch::kFloat64).sum(0)), 1e-3);  // partial sums of size 300 in float32
}

}  // namespace
}  // namespace segre::kernels::bias_test

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
