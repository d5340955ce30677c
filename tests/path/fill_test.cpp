#include "segre/path/fill.h"

#include "tests/support/reference.h"
#include "tests/support/statistics.h"

// Labels filled in a few at a time.

namespace segre::fill_test {
namespace {

// What fill_unknown asked for: the labels so far, of every step.
struct Asked {
  std::vector<torch::Tensor> labels;
};

// Every label with the probability p [S], whatever is known; u [B, n] decide in every step.
FillPlan plan(int64_t steps, const torch::Tensor& p, const torch::Tensor& u, const torch::Tensor& priority,
              Asked& asked) {
  return {.steps = steps,
          .log_marginals =
              [&asked, p](const torch::Tensor& labels) {
                asked.labels.push_back(labels);
                return p.log().expand({labels.size(0), -1});
              },
          .uniforms = [u](int64_t) { return u; },
          .priority = [priority](const torch::Tensor&) { return priority; }};
}

TEST(Fill, EveryStepFillsItsShareInTheOrderOfThePriorities) {
  const Space space = test::binary_space(7);
  const auto labels =
      torch::tensor({{1, 0, 1, 0, 1, 0, 1}, {-1, 1, 1, -1, 0, 0, -1}, {-1, -1, -1, -1, -1, -1, -1}}, torch::kInt64);
  const auto priority = torch::tensor({3.0, 0.5, 6.0, 1.0, 5.0, 4.0, 2.0}).expand({3, 7});
  const auto u = torch::full({3, 7}, 0.9);  // label 1
  Asked asked;
  const auto filled = fill_unknown(space, labels, plan(3, torch::full({14}, 0.5), u, priority, asked));
  const std::vector<torch::Tensor> expected{
      labels,
      torch::tensor({{1, 0, 1, 0, 1, 0, 1}, {-1, 1, 1, 1, 0, 0, -1}, {-1, 1, -1, 1, -1, -1, -1}}, torch::kInt64),
      torch::tensor({{1, 0, 1, 0, 1, 0, 1}, {-1, 1, 1, 1, 0, 0, 1}, {1, 1, -1, 1, -1, -1, 1}}, torch::kInt64)};
  ASSERT_EQ(asked.labels.size(), 3U);
  for (size_t step = 0; step < 3; ++step) EXPECT_TRUE(torch::equal(asked.labels[step], expected[step])) << step;
  EXPECT_TRUE(torch::equal(filled, labels.masked_fill(labels == kUnknown, 1)));
}

// Probabilities need not sum to 1 exactly, and a label of probability 0 is never drawn.
TEST(Fill, LabelsAreThoseWhoseShareHoldsTheNumber) {
  const Space space = test::space_of({3, 2});
  const auto p = torch::tensor({0.4f, 0.0f, 1.2f, 0.3f, 0.9f});
  const auto u = torch::tensor({{0.0f, 0.0f}, {0.24f, 0.24f}, {0.26f, 0.26f}, {0.999999f, 0.999999f}});
  Asked asked;
  const auto labels = torch::full({4, 2}, kUnknown, torch::kInt64);
  const auto filled = fill_unknown(space, labels, plan(1, p, u, torch::zeros({4, 2}), asked));
  EXPECT_TRUE(torch::equal(filled, torch::tensor({{0, 0}, {0, 0}, {2, 1}, {2, 1}}, torch::kInt64)));
}

}  // namespace
}  // namespace segre::fill_test
