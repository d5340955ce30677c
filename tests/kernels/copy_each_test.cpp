// Copies of many tensors at once compared with plain ones.

#include "segre/kernels/copy_each.h"

#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::copy_each_test {
namespace {

using test::noise;

TEST(CopyEach, NumbersAreTakenInTheOrderOfMemory) {
  const auto picture = noise({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto flat = torch::zeros({picture.numel()}, picture.options());
  kernels::copy_each({flat}, {picture});
  EXPECT_TRUE(torch::equal(flat, picture.permute({0, 2, 3, 1}).reshape(-1)));
  const auto back = torch::zeros_like(picture);
  kernels::copy_each({back}, {flat});
  EXPECT_TRUE(torch::equal(back, picture));
}

TEST(CopyEach, TensorsWithGapsAreRefused) {
  const auto every_second = noise({8}).slice(0, 0, 8, 2);
  EXPECT_EQ(test::any_error([&] { kernels::copy_each({torch::zeros({4}, every_second.options())}, {every_second}); }),
            "a tensor of shape [4] is not dense in memory");
}

// More tensors than one launch takes, of sizes around the block's and none, aligned and not.
TEST(CopyEach, CopiesAndConvertsAsPlainCopiesDo_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  std::vector<int64_t> sizes{0, 1, 7, 4095, 4096, 4097, 20'000};
  for (int64_t k = 0; k < 120; ++k) sizes.push_back(3 + 97 * k);
  for (const auto from_type : {torch::kFloat32, torch::kBFloat16, torch::kBool})
    for (const auto to_type : {torch::kFloat32, torch::kBFloat16})
      for (const int64_t shift : {0, 1}) {
        std::vector<torch::Tensor> from, to, expected;
        for (size_t k = 0; k < sizes.size(); ++k) {
          const auto numbers = noise({sizes[k] + shift}, k + 1).to(torch::kCUDA);
          from.push_back((from_type == torch::kBool ? numbers > 0 : numbers.to(from_type)).slice(0, shift));
          to.push_back(torch::full({sizes[k]}, -7.0, numbers.options().dtype(to_type)));
          expected.push_back(to.back().clone());
        }
        kernels::copy_each(to, from);
        kernels::copy_each_plain(expected, from);
        for (size_t k = 0; k < sizes.size(); ++k) EXPECT_TRUE(torch::equal(to[k], expected[k])) << sizes[k];
      }
}

}  // namespace
}  // namespace segre::copy_each_test
