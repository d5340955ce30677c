#include "segre/kernels/dense_kernels.h"

#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::kernels::dense_kernels_test {
namespace {

using test::max_difference;
using test::noise;

// Widths around a vector register, batches around the blocks of 128 rows.
constexpr int64_t kWidths[] = {1, 15, 16, 17, 100};
constexpr int64_t kBatches[] = {1, 3, 127, 128, 129, 300};

template <class Check>
void for_all_shapes(Check&& check) {
  for (const int64_t B : kBatches)
    for (const int64_t H : kWidths) {
      SCOPED_TRACE(concat("batch ", B, ", width ", H));
      check(B, H);
    }
}

TEST(DenseKernels, ShiftReluEqualsItsTwin) {
  for_all_shapes([&](int64_t B, int64_t H) {
    const auto x = noise({B, H}, 1, torch::kFloat32);
    for (const auto& shift :
         {noise({H}, 2, torch::kFloat32), noise({1, H}, 2, torch::kFloat32), noise({B, H}, 2, torch::kFloat32)})
      for (const bool relu : {false, true}) {
        auto out = x.clone();
        shift_relu_(out, shift, relu);
        const auto plain = x + shift;
        EXPECT_TRUE(torch::equal(out, relu ? plain.relu() : plain));  // one addition: the same bits
      }
  });
}

TEST(DenseKernels, ReluGradientEqualsItsTwin) {
  // Sums of up to 300 float32 numbers of size 1.
  constexpr double kSumTol = 2e-5;
  for_all_shapes([&](int64_t B, int64_t H) {
    const auto grad = noise({B, H}, 1, torch::kFloat32);
    const auto out = noise({B, H}, 2, torch::kFloat32).relu();
    for (const bool relu : {false, true}) {
      const auto found = relu_gradient(grad, out, relu);
      const auto plain = relu ? torch::where(out > 0, grad, torch::zeros_like(grad)) : grad;
      EXPECT_TRUE(torch::equal(found.gradient, plain));
      EXPECT_LT(max_difference(found.sum, plain.to(torch::kFloat64).sum(0)), kSumTol);
    }
  });
}

TEST(DenseKernels, GradientsMayBeExpandedViews) {
  const auto found = relu_gradient(torch::ones({1, 1}).expand({5, 3}), torch::ones({5, 3}), true);
  EXPECT_TRUE(torch::equal(found.sum, torch::full({3}, 5.0f)));
}

TEST(DenseKernels, SumsDoNotDependOnTheNumberOfThreads) {
  const auto grad = noise({1000, 33}, 1, torch::kFloat32);
  const auto with = [&](int count) {
    const test::Threads threads(count);
    return relu_gradient(grad, grad, true).sum;
  };
  EXPECT_TRUE(torch::equal(with(1), with(2)));
}

}  // namespace
}  // namespace segre::kernels::dense_kernels_test
