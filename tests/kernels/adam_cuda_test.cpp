// Adam on CUDA compared with its definition.

#include "segre/kernels/adam_kernel.h"
#include "tests/support/support.h"

namespace segre::adam_cuda_test {
namespace {

using test::max_difference;
using test::noise;

// More tensors than one launch takes, of sizes around the block size.
std::vector<int64_t> sizes() {
  std::vector<int64_t> out{1, 7, 4095, 4096, 4097, 20'000};
  for (int64_t k = 0; k < 60; ++k) out.push_back(3 + 97 * k);
  return out;
}

constexpr kernels::AdamStep kStep{0.9, 0.99, 1e-8, 0.02, 1.3, 0.95};

torch::Tensor on_device(const torch::Tensor& x) { return x.to(torch::kFloat32).to(torch::kCUDA); }
torch::Tensor numbers() {
  const auto numbers = kernels::adam_numbers(kStep);
  return on_device(torch::tensor(at::ArrayRef<float>(numbers.data(), numbers.size())));
}
torch::Tensor back(const torch::Tensor& x) { return x.to(torch::kCPU).to(torch::kFloat64); }

std::vector<kernels::AdamSegment> segments(torch::ScalarType gradient, bool shadow) {
  std::vector<kernels::AdamSegment> out;
  uint64_t seed = 1;
  for (const int64_t n : sizes()) {
    out.push_back({on_device(noise({n}, seed)), on_device(noise({n}, seed + 1)).to(gradient),
                   on_device(noise({n}, seed + 2)), on_device(noise({n}, seed + 3).square()),
                   on_device(noise({n}, seed + 4)), torch::Tensor()});
    if (shadow) out.back().shadow = torch::zeros({n}, torch::device(torch::kCUDA).dtype(torch::kBFloat16));
    seed += 5;
  }
  return out;
}

TEST(AdamCuda, UpdatesAllTensorsAsTheDefinitionDoes_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    const auto all = segments(type, /*shadow=*/true);
    std::vector<kernels::AdamSegment> expected;
    constexpr double kScale = 0.5;
    for (const auto& s : all) {
      expected.push_back({back(s.weight), back(s.gradient) * kScale, back(s.m), back(s.v), back(s.average), {}});
      const auto& e = expected.back();
      kernels::adam_plain_(e.weight, e.gradient, e.m, e.v, e.average, kStep);
    }
    kernels::adam_cuda_(all, numbers(), on_device(torch::full({1}, kScale)), on_device(torch::ones({1})));
    for (size_t k = 0; k < all.size(); ++k) {
      // A handful of float32 operations on numbers of size 1 to 10.
      EXPECT_LT(max_difference(back(all[k].m), expected[k].m), 1e-6) << k;
      EXPECT_LT(max_difference(back(all[k].v), expected[k].v), 1e-5) << k;
      EXPECT_LT(max_difference(back(all[k].weight), expected[k].weight), 1e-5) << k;
      EXPECT_LT(max_difference(back(all[k].average), expected[k].average), 1e-5) << k;
      EXPECT_TRUE(torch::equal(all[k].shadow, all[k].weight.to(torch::kBFloat16))) << k;
    }
  }
}

TEST(AdamCuda, WritesNothingWithoutPermission_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto all = segments(torch::kFloat32, false);
  std::vector<torch::Tensor> before;
  for (const auto& s : all) before.push_back(s.weight.clone());
  kernels::adam_cuda_(all, numbers(), on_device(torch::ones({1})), on_device(torch::zeros({1})));
  for (size_t k = 0; k < all.size(); ++k) EXPECT_TRUE(torch::equal(all[k].weight, before[k])) << k;
}

TEST(AdamCuda, SumsTheSquaresOfAllGradients_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    const auto all = segments(type, false);
    double expected = 0.0;
    for (const auto& s : all) expected += back(s.gradient).square().sum().item<double>();
    const auto found = on_device(torch::zeros({1}));
    kernels::squared_norm(all, found);
    EXPECT_NEAR(found.item<float>() / expected, 1.0, 1e-5);  // 150,000 terms added in a tree
    const auto again = on_device(torch::zeros({1}));
    kernels::squared_norm(all, again);
    EXPECT_TRUE(torch::equal(found, again));
  }
}

}  // namespace
}  // namespace segre::adam_cuda_test
