#include "segre/kernels/dense.h"

#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::kernels::dense_test {
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
}  // namespace segre::kernels::dense_test

namespace segre::dense_test {
namespace {

using test::max_difference;
using test::noise;

// Products of 30 float32 numbers of size 1, summed over up to 200 items.
constexpr double kSingleTol = 1e-4;

struct Layer {
  Layer(int64_t B, const std::vector<int64_t>& shift_shape, torch::TensorOptions options)
      : x(noise({B, 30}, 1, options).requires_grad_(true)),
        weight(noise({17, 30}, 2, options).requires_grad_(true)),
        shift(noise(shift_shape, 3, options).requires_grad_(true)),
        direction(noise({B, 17}, 4, options)) {}
  torch::Tensor run(Activation activation) const {
    const auto out = dense(x, weight, shift, activation);
    (out * direction).sum().backward();
    return out.detach();
  }
  torch::Tensor x, weight, shift, direction;
};

TEST(Dense, IsAnAffineMapWithRelu) {
  const Layer layer(3, {17}, torch::kFloat64);
  const auto out = layer.run(Activation::relu);
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t k = 0; k < 17; ++k) {
      double sum = layer.shift[k].item<double>();
      for (int64_t j = 0; j < 30; ++j) sum += layer.x[b][j].item<double>() * layer.weight[k][j].item<double>();
      EXPECT_NEAR(out[b][k].item<double>(), std::max(0.0, sum), 1e-13);
    }
}

TEST(Dense, FusedValuesAndGradientsEqualThePlainOnes) {
  for (const int64_t B : {1, 5, 200})
    for (const auto& shift_shape : std::vector<std::vector<int64_t>>{{17}, {1, 17}, {B, 17}})
      for (const Activation activation : {Activation::none, Activation::relu}) {
        SCOPED_TRACE(concat("batch ", B, ", shift of ", shift_shape.size(), " axes"));
        const Layer fused(B, shift_shape, torch::kFloat32);
        const Layer plain(B, shift_shape, torch::kFloat64);
        EXPECT_LT(max_difference(fused.run(activation), plain.run(activation)), kSingleTol);
        ASSERT_EQ(fused.shift.grad().sizes(), plain.shift.grad().sizes());
        EXPECT_LT(max_difference(fused.x.grad(), plain.x.grad()), kSingleTol);
        EXPECT_LT(max_difference(fused.weight.grad(), plain.weight.grad()), kSingleTol);
        EXPECT_LT(max_difference(fused.shift.grad(), plain.shift.grad()), kSingleTol);
      }
}

TEST(Dense, WorksWithoutGradients) {
  const Layer layer(5, {17}, torch::kFloat32);
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(dense(layer.x, layer.weight, layer.shift, Activation::relu).requires_grad());
}

}  // namespace
}  // namespace segre::dense_test
