#include "segre/space/blocks.h"

#include "tests/support/reference.h"

namespace segre::blocks_test {
namespace {

using test::labels_of;
using test::mixed_space;
using test::noise;
using test::some_labels;
using test::values_of;

// A mixed space, a uniform one, and one with variables that have a single label.
std::vector<Space> spaces() {
  return {mixed_space(), Space::image(2, 3, 4), test::space_of({1, 3, 1, 2})};
}

TEST(Blocks, MapSeesEachVariableOnceAndPutsItBack) {
  for (const Space& space : spaces()) {
    const auto x = noise({3, space.n_coordinates()});
    const auto y = noise({3, space.n_coordinates()}, 2);
    // Not symmetric in the labels: the running sum of x, times y.
    const auto out = values_of(map_blocks(space, {x, y}, [](const auto& in) { return in[0].cumsum(-1) * in[1]; }));
    const auto xs = values_of(x);
    const auto ys = values_of(y);
    size_t k = 0;
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t i = 0; i < space.n_variables(); ++i) {
        double running = 0.0;
        for (int64_t j = 0; j < space.n_labels(i); ++j, ++k) {
          running += xs[k];
          EXPECT_NEAR(out[k], running * ys[k], 1e-14);  // sums of seven numbers of size 1
        }
      }
  }
}

TEST(Blocks, ReduceGivesOneValuePerVariableInOrder) {
  for (const Space& space : spaces()) {
    const auto x = noise({3, space.n_coordinates()});
    const auto out = reduce_blocks(space, {x}, [](const auto& in) { return in[0].amax(-1); });
    ASSERT_EQ(out.sizes(), (std::vector<int64_t>{3, space.n_variables()}));
    const auto found = values_of(out);
    const auto xs = values_of(x);
    size_t k = 0;
    for (size_t variable = 0; variable < found.size(); ++variable) {
      double largest = xs[k];
      for (int64_t j = 0; j < space.n_labels(static_cast<int64_t>(variable) % space.n_variables()); ++j, ++k)
        largest = std::max(largest, xs[k]);
      EXPECT_EQ(found[variable], largest);
    }
  }
}

TEST(Blocks, AnyBatchShapeWillDo) {
  for (const Space& space : spaces()) {
    const auto x = noise({6, space.n_coordinates()});
    const auto softmax = [](const auto& in) { return in[0].softmax(-1); };
    const auto flat = map_blocks(space, {x}, softmax);
    EXPECT_TRUE(torch::equal(map_blocks(space, {x.view({2, 3, -1})}, softmax).view({6, -1}), flat));
    EXPECT_TRUE(torch::equal(map_blocks(space, {x[4]}, softmax), flat[4]));
    EXPECT_EQ(argmax_labels(space, x[4]).dim(), 1);
  }
}

TEST(Blocks, MapIsDifferentiable) {
  const Space space = mixed_space();
  auto x = noise({2, space.n_coordinates()}).requires_grad_(true);
  map_blocks(space, {x}, [](const auto& in) { return in[0].square(); }).sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), 2.0 * x.detach()));
}

TEST(Blocks, SpreadRepeatsPickSelectsOneHotMarks) {
  for (const Space& space : spaces()) {
    const auto y = noise({3, space.n_variables()});
    const auto x = noise({3, space.n_coordinates()}, 2);
    const auto labels = some_labels(space, 3);
    const auto repeated = values_of(spread(space, y));
    const auto picked = values_of(pick(space, x, labels));
    const auto hot = one_hot(space, labels, torch::kFloat32);
    EXPECT_EQ(hot.scalar_type(), torch::kFloat32);
    const auto marks = values_of(hot);
    const auto ys = values_of(y);
    const auto xs = values_of(x);
    const auto beta = labels_of(labels);
    size_t k = 0;
    for (size_t variable = 0; variable < beta.size(); ++variable) {
      const int64_t c = space.n_labels(static_cast<int64_t>(variable) % space.n_variables());
      EXPECT_EQ(picked[variable], xs[k + static_cast<size_t>(beta[variable])]);
      for (int64_t j = 0; j < c; ++j, ++k) {
        EXPECT_EQ(repeated[k], ys[variable]);
        EXPECT_EQ(marks[k], j == beta[variable] ? 1.0 : 0.0);
      }
    }
  }
}

TEST(Blocks, ArgmaxFindsTheLargestAndBreaksTiesDownwards) {
  for (const Space& space : spaces()) {
    const auto labels = some_labels(space, 5);
    const auto x = noise({5, space.n_coordinates()}).clamp(-2, 2) + 10.0 * one_hot(space, labels, torch::kFloat64);
    EXPECT_TRUE(torch::equal(argmax_labels(space, x), labels));
    EXPECT_EQ(argmax_labels(space, torch::zeros({2, space.n_coordinates()})).abs().sum().item<int64_t>(), 0);
  }
}

TEST(Blocks, CudaAgreesWithTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const Space& space : spaces()) {
    const auto x = noise({3, space.n_coordinates()});
    const auto labels = some_labels(space, 3);
    EXPECT_TRUE(torch::equal(argmax_labels(space, x.cuda()).cpu(), argmax_labels(space, x)));
    EXPECT_TRUE(torch::equal(pick(space, x.cuda(), labels.cuda()).cpu(), pick(space, x, labels)));
    EXPECT_TRUE(
        torch::equal(one_hot(space, labels.cuda(), x.cuda().options()).cpu(), one_hot(space, labels, x.options())));
    const auto y = noise({3, space.n_variables()});
    EXPECT_TRUE(torch::equal(spread(space, y.cuda()).cpu(), spread(space, y)));
  }
}

}  // namespace
}  // namespace segre::blocks_test
