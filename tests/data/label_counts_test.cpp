// Files are often sorted: whoever counts only some rows must choose them from all of the file.

#include "segre/data/label_counts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "segre/net/layers.h"
#include "segre/net/mixture_fit.h"
#include "segre/net/tree_fit.h"
#include "tests/support/reference.h"

namespace segre::label_counts_test {
namespace {

constexpr int64_t kYears = 3;
constexpr int64_t kRowsPerYear = 100'000;

// A table sorted by year. The second column is 0 in the last year, else 0 or 1.
std::unique_ptr<DataSource> sorted_rows() {
  const Space space = Space::table({{"year", kYears, {}}, {"a", 2, {}}});
  const auto year = torch::arange(kYears * kRowsPerYear).div(kRowsPerYear, "floor");
  const auto a = torch::where(year == kYears - 1, 0, torch::arange(year.size(0)).remainder(2));
  return make_dataset_source({.space = space, .labels = torch::stack({year, a}, 1)});
}

// The largest deviation of a share of `rows` chosen rows: five standard deviations, and what smoothing adds at most.
double tolerance(int64_t rows) { return 5.0 * std::sqrt(0.25 / static_cast<double>(rows)) + 1e-4; }

const torch::Tensor& shares() {
  static const auto all = torch::tensor({1.0 / 3, 1.0 / 3, 1.0 / 3, 2.0 / 3, 1.0 / 3}, torch::kFloat64);
  return all;
}

TEST(LabelCounts, AChoiceOfRowsComesFromTheWholeSource) {
  constexpr int64_t kMost = 10'000;
  const auto source = sorted_rows();
  const auto counts = count_labels(*source, kMost);
  EXPECT_EQ(counts.sum().item<int64_t>(), 2 * kMost);
  EXPECT_LT(test::max_difference(counts.to(torch::kFloat64) / kMost, shares()), tolerance(kMost));
  EXPECT_TRUE(torch::equal(count_labels(*source, kMost), counts)) << "another choice";
}

TEST(LabelCounts, AllRowsAreCountedIfTheyAreFewEnough) {
  const auto counts = count_labels(*sorted_rows(), kYears * kRowsPerYear);
  EXPECT_TRUE(torch::equal(counts, torch::tensor({100'000, 100'000, 100'000, 200'000, 100'000}, torch::kInt64)));
}

TEST(LabelCounts, PartsAreNoLargerThanAsked) {
  int64_t total = 0;
  for_some_items(*sorted_rows(), 1000, 300, [&](const torch::Tensor& labels) {
    EXPECT_LE(labels.size(0), 300);
    total += labels.size(0);
  });
  EXPECT_EQ(total, 1000);
}

TEST(LabelCounts, ASourceWithoutEndIsCountedAsFarAsAsked) {
  const auto source = make_joint_source(test::random_joint(test::binary_space(2)));
  std::vector<int64_t> counts;
  for_some_items(*source, 1000, 300, [&](const torch::Tensor& labels) { counts.push_back(labels.size(0)); });
  EXPECT_EQ(counts, (std::vector<int64_t>{300, 300, 300, 100}));
}

TEST(LabelCounts, IndependentVariablesHaveTheSharesOfTheirLabelsWithHalfACountAdded) {
  const Space space = test::space_of({2, 3});
  const auto counts = torch::tensor({3, 1, 0, 2, 2}, torch::kInt64);
  const auto labels = torch::tensor({0, 1, 1, 0, 1, -1}, torch::kInt64).view({3, 2});
  const auto nats = independent_nats(space, counts, labels);
  EXPECT_NEAR(nats[0].item<double>(), -std::log(3.5 / 5.0) - std::log(2.5 / 5.5), 1e-14);
  EXPECT_NEAR(nats[1].item<double>(), -std::log(1.5 / 5.0) - std::log(0.5 / 5.5), 1e-14) << "never seen";
  EXPECT_NEAR(nats[2].item<double>(), -std::log(1.5 / 5.0), 1e-14) << "an unknown label counts nothing";
}

TEST(LabelCounts, NetworksStartFromTheWholeOfASortedFile) {
  const auto source = sorted_rows();
  EXPECT_LT(test::max_difference(log_frequencies(*source, false).to(torch::kFloat64).exp(), shares()),
            tolerance(100'000));
  const CountedTree tree = count_tree(*source);
  const auto years =
      tree.parents[0] < 0 ? tree.marginals[0] : tree.marginals[1].slice(0, 0, 2).matmul(tree.tables[0].slice(0, 0, 2));
  EXPECT_LT(test::max_difference(years, shares().slice(0, 0, 3)), tolerance(100'000));
  const FittedMixture mixture = fit_mixture(*source, 4);
  const auto classes = mixture.class_logits.softmax(0);
  const auto of_years = mixture.label_logits.slice(1, 0, 3).softmax(1);
  // One count per class and label is spread over 10^5 rows.
  EXPECT_LT(test::max_difference(classes.matmul(of_years).to(torch::kFloat64), shares().slice(0, 0, 3)),
            tolerance(90'000) + 1e-3);
}

}  // namespace
}  // namespace segre::label_counts_test
