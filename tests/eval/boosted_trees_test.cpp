#include "segre/eval/boosted_trees.h"

#include <cmath>

#include "segre/core/parallel.h"
#include "segre/eval/two_sample.h"
#include "tests/support/reference.h"

namespace segre::boosted_trees_test {
namespace {

using test::Row;

torch::Tensor uniform(int64_t rows, int64_t columns, uint64_t seed) {
  return fill_uniform(torch::empty({rows, columns}, torch::kFloat64), {seed, Purpose::probe}, 0);
}

double accuracy(const std::vector<double>& log_odds, const Row& truth) {
  double n_right = 0.0;
  for (size_t k = 0; k < truth.size(); ++k) n_right += (log_odds[k] > 0.0) == (truth[k] > 0.5) ? 1.0 : 0.0;
  return n_right / static_cast<double>(truth.size());
}

TEST(BoostedTrees, SeparateWhatASingleCutSeparates) {
  const auto x = uniform(400, 3, 1);
  const auto y = test::values_of((x.select(1, 1) > 0.5).to(torch::kFloat64));
  const BoostedTrees trees(x, {false, false, false}, y, BoostedTrees::Goal::log_odds);
  const auto fresh = uniform(1000, 3, 2);
  const auto truth = test::values_of((fresh.select(1, 1) > 0.5).to(torch::kFloat64));
  EXPECT_GT(accuracy(trees.predict(fresh), truth), 0.99);  // the cut is known to about 1/400
  EXPECT_GT(trees.gains()[1], 0.99);
}

TEST(BoostedTrees, FindAnInteractionThatNoSingleColumnShows) {
  const auto xor_of = [](const torch::Tensor& x) {
    return test::values_of(((x.select(1, 0) > 0.5) != (x.select(1, 1) > 0.5)).to(torch::kFloat64));
  };
  const auto x = uniform(2000, 2, 3);
  const BoostedTrees trees(x, {false, false}, xor_of(x), BoostedTrees::Goal::log_odds);
  const auto fresh = uniform(1000, 2, 4);
  EXPECT_GT(accuracy(trees.predict(fresh), xor_of(fresh)), 0.97);
}

TEST(BoostedTrees, OneLabelAgainstTheOthersNeedsNoOrder) {
  // Labels 1, 4 and 6 of 8 mean 1: no cut of their numbers separates them.
  const auto x = (uniform(2000, 1, 5) * 8).floor();
  Row y;
  for (const double label : test::values_of(x)) y.push_back(label == 1 || label == 4 || label == 6 ? 1.0 : 0.0);
  const BoostedTrees trees(x, {true}, y, BoostedTrees::Goal::log_odds);
  EXPECT_EQ(accuracy(trees.predict(x), y), 1.0);
  EXPECT_EQ(trees.predict(torch::full({1, 1}, 11.0, torch::kFloat64)).size(), 1U) << "a label that was not seen";
}

TEST(BoostedTrees, AMissingNumberTellsSomething) {
  auto x = uniform(1000, 1, 6);
  x.slice(0, 0, 500).fill_(NAN);
  Row y(1000, 0.0);
  std::fill(y.begin(), y.begin() + 500, 1.0);
  EXPECT_EQ(accuracy(BoostedTrees(x, {false}, y, BoostedTrees::Goal::log_odds).predict(x), y), 1.0);
}

TEST(BoostedTrees, OneStumpIsTheNewtonStepByHand) {
  // Four rows, outcome 0 0 1 1, cut in the middle: p = 1/2, gradients -+1/2, curvature 1/4 each. A leaf of two rows
  // steps by -sum g / (sum h + ridge) = -+1 / (1/2 + 1), times the rate.
  const auto x = torch::tensor({1.0, 2.0, 3.0, 4.0}, torch::kFloat64).unsqueeze(1);
  const BoostedOptions options{.n_trees = 1, .depth = 1, .rate = 0.5, .ridge = 1.0, .least_weight = 0.0};
  const BoostedTrees trees(x, {false}, {0, 0, 1, 1}, BoostedTrees::Goal::log_odds, options);
  const auto found = trees.predict(x);
  const double step = 0.5 * 1.0 / 1.5;
  for (int64_t k = 0; k < 4; ++k) EXPECT_NEAR(found[k], k < 2 ? -step : step, 1e-12);
}

TEST(BoostedTrees, NumbersArePredictedWithSquaredError) {
  const auto line = [](const torch::Tensor& x) { return test::values_of(3.0 * x.select(1, 0) + 100.0); };
  const auto x = uniform(3000, 2, 7);
  const BoostedTrees trees(x, {false, false}, line(x), BoostedTrees::Goal::number);
  const auto fresh = uniform(500, 2, 8);
  const auto found = trees.predict(fresh);
  const auto truth = line(fresh);
  for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], truth[k], 0.15);  // cut into about 250 of 3
}

TEST(BoostedTrees, ThreadsDoNotChangeTheBits) {
  const auto x = uniform(9000, 5, 9);  // enough cells for several threads
  const auto y = test::values_of((x.sum(1) > 2.5).to(torch::kFloat64));
  const std::vector<bool> are_labels(5, false);
  const auto once = [&](int threads) {
    set_threads(threads);
    return BoostedTrees(x, are_labels, y, BoostedTrees::Goal::log_odds, {.n_trees = 5}).predict(x);
  };
  const int before = n_threads();
  const auto one = once(1);
  EXPECT_EQ(once(3), one);
  set_threads(before);
}

TEST(BoostedTrees, RefuseValuesOfAnotherShape) {
  EXPECT_EQ(test::input_error([] {
              BoostedTrees(torch::zeros({3, 2}, torch::kFloat64), {false}, {0, 1, 1}, BoostedTrees::Goal::number);
            }),
            "boosted trees need rows of 1 columns, found values of shape [3, 2]");
}

// ---- the two-sample test
// ----------------------------------------------------------------------------------------------

std::vector<ValueColumn> columns_of(int64_t count) {
  std::vector<ValueColumn> columns;
  for (int64_t c = 0; c < count; ++c) columns.push_back({concat("x", c + 1), Bins{}, {}});
  return columns;
}

TEST(TwoSampleTest, EqualDistributionsAreNotToldApart) {
  // The 95% interval holds 0.5 in most of 40 tests: 38 are expected, and fewer than 33 has a chance below 1 in 200.
  int64_t n_covered = 0;
  for (uint64_t k = 0; k < 40; ++k) {
    const auto found = two_sample_test(columns_of(3), uniform(150, 3, 100 + k), uniform(150, 3, 200 + k), 1);
    n_covered += found.auc.low <= 0.5 && 0.5 <= found.auc.high ? 1 : 0;
  }
  EXPECT_GE(n_covered, 33);
}

TEST(TwoSampleTest, DisjointDistributionsAreToldApart) {
  const auto found = two_sample_test(columns_of(2), uniform(200, 2, 1), uniform(200, 2, 2) + 2.0, 1);
  EXPECT_EQ(found.auc.value, 1.0);
  EXPECT_EQ(found.score().value, 0.0);
  EXPECT_EQ(found.n_rows, 200);
}

TEST(TwoSampleTest, TheAucIsAtMostThatOfTheLikelihoodRatio) {
  // Densities 1 and 2 x on [0, 1]: the best score is x, and P(x' > x) = 2/3.
  const auto found = two_sample_test(columns_of(1), uniform(4000, 1, 5), uniform(4000, 1, 6).sqrt(), 1);
  EXPECT_LT(found.auc.value, 2.0 / 3.0 + 0.02);  // three standard errors
  EXPECT_GT(found.auc.value, 0.62);              // trees of depth 6 overfit a little
}

TEST(TwoSampleTest, LostDependenceIsSeen) {
  auto real = uniform(1000, 2, 7);
  real.select(1, 1).copy_(real.select(1, 0));
  const auto mixed = shuffle_columns(real, 3);
  EXPECT_GT(two_sample_test(columns_of(2), real, mixed, 1).auc.low, 0.9);
  EXPECT_TRUE(torch::equal(std::get<0>(mixed.select(1, 1).sort()), std::get<0>(real.select(1, 1).sort())));
}

TEST(LearnAndPredict, KnowsWhatTheOtherColumnsTell) {
  auto columns = columns_of(1);
  ValueColumn label{.name = "y"};
  label.labels.number("no");
  label.labels.number("yes");
  columns.push_back(label);
  const auto table = [](uint64_t seed) {
    auto rows = uniform(500, 2, seed);
    rows.select(1, 1).copy_((rows.select(1, 0) > 0.3).to(torch::kFloat64));
    return rows;
  };
  const auto found = learn_and_predict(columns, 1, table(1), table(2));
  double right = 0.0;
  for (const double one : found.right) right += one / 500.0;
  EXPECT_GT(right, 0.98);
  EXPECT_EQ(found.score.size(), 500U);
  EXPECT_GT(learn_and_predict(columns_of(2), 1, table(1), table(2)).explained, 0.95);  // 0 and 1 as numbers
}

}  // namespace
}  // namespace segre::boosted_trees_test
