// Repeated items: scored once, counted as often as they occur, with errors that account for it.

#include <cmath>

#include "segre/likelihood/scores.h"
#include "tests/support/support.h"

namespace segre::distinct_test {
namespace {

torch::Tensor doubles(const std::vector<double>& values) { return torch::tensor(values, torch::kFloat64); }

TEST(DistinctItems, KeepTheOrderOfFirstAppearanceAndTheirCounts) {
  const auto labels = torch::tensor({{1, 0}, {0, 2}, {1, 0}, {0, 1}, {1, 0}, {0, 2}}, torch::kInt64);
  const auto items = distinct_items(labels);
  EXPECT_TRUE(torch::equal(items.labels, torch::tensor({{1, 0}, {0, 2}, {0, 1}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(items.counts, torch::tensor({3, 2, 1}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(items.labels.index_select(0, items.place), labels));
  const ItemScores scores{.log_p = doubles({-1, -2, -3}), .std_error = doubles({0.1, 0.2, 0.3})};
  EXPECT_TRUE(torch::equal(repeat_scores(scores, items.place).log_p, doubles({-1, -2, -1, -3, -1, -2})));
}

TEST(ScoreSummary, RepeatsShareTheirErrors) {
  const Space space = test::binary_space(2);
  const ItemScores scores{.log_p = doubles({-1, -3}), .std_error = doubles({0.3, 0.4})};
  const auto summary = summarise(scores, space, torch::tensor({7500, 2500}, torch::kInt64));
  EXPECT_EQ(summary.n_items, 10'000);
  EXPECT_EQ(summary.n_distinct, 2);
  EXPECT_DOUBLE_EQ(summary.log_p, -1.5);
  // Not 0.3 / sqrt(10,000): the 7,500 equal items share one error.
  EXPECT_DOUBLE_EQ(summary.estimation_error, std::hypot(0.75 * 0.3, 0.25 * 0.4));
  // Items spread by 0.75 (the variance of -1 and -3 in these shares) less the estimates' own spread, over 10,000.
  const double spread = 0.75 * 10'000.0 / 9'999.0 - (0.75 * 0.09 + 0.25 * 0.16);
  EXPECT_NEAR(summary.sampling_error, std::sqrt(spread / 10'000.0 + std::pow(summary.estimation_error, 2)), 1e-12);
}

TEST(ScoreSummary, WithoutRepeatsTheSamplingErrorIsThatOfTheMean) {
  const auto log_p = doubles({-1.0, -2.5, -4.0, -3.0});
  const ItemScores scores{.log_p = log_p, .std_error = torch::full({4}, 0.1, torch::kFloat64)};
  const auto summary = summarise(scores, test::binary_space(2));
  EXPECT_NEAR(summary.sampling_error, log_p.std().item<double>() / 2.0, 1e-12);
  EXPECT_NEAR(summary.estimation_error, 0.05, 1e-12);
}

TEST(ScoreSummary, ErrorsOfIntegrationDoNotAverageOut) {
  const int64_t N = 400;
  ItemScores scores{.log_p = torch::full({N}, -2.0, torch::kFloat64),
                    .std_error = torch::full({N}, 0.2, torch::kFloat64),
                    .integration = torch::full({N}, 0.03, torch::kFloat64)};
  const auto leaning = summarise(scores, test::binary_space(2));
  EXPECT_NEAR(leaning.estimation_error, 0.01, 1e-12);
  EXPECT_NEAR(leaning.integration_error, std::hypot(0.03, 0.03 / 20.0), 1e-12);
  EXPECT_NEAR(leaning.total_error(), std::hypot(0.01, leaning.integration_error), 1e-12);
  EXPECT_NEAR(total_error(scores)[0].item<double>(), std::hypot(0.2, 0.03), 1e-12);
  // Errors of both signs average out.
  scores.integration.slice(0, 0, N, 2).neg_();
  EXPECT_NEAR(summarise(scores, test::binary_space(2)).integration_error, 0.03 / 20.0, 1e-12);
  EXPECT_NE(describe(leaning, ScoreKind::lower_bound).find("by chance, 0.03 by integration"), std::string::npos);
}

TEST(ScoreSummary, SharedDrawsAreCountedTogether) {
  // Two items whose errors cancel in the sum, as those of p and 1 - p do.
  const auto shared = torch::tensor({{0.1, -0.1}, {-0.2, 0.2}, {0.1, -0.1}}, torch::kFloat64);
  const ItemScores scores{
      .log_p = doubles({-0.7, -0.7}), .std_error = doubles({0.3, 0.3}), .integration = {}, .shared = shared};
  EXPECT_NEAR(error_of_sum(scores, doubles({0.5, 0.5})), 0.0, 1e-15);
  EXPECT_NEAR(error_of_sum(scores, doubles({1.0, 0.0})), std::sqrt(0.06 * 3.0 / 2.0), 1e-12);
  EXPECT_NEAR(sum_of_probabilities(scores).error, 0.0, 1e-12) << "the sum of all probabilities is known exactly";
}

TEST(ScoreSummary, AnUnknownErrorIsUnknown) {
  const ItemScores scores{.log_p = doubles({-1, -3}), .std_error = doubles({0.3, NAN})};
  const auto summary = summarise(scores, test::binary_space(2), torch::tensor({3, 1}, torch::kInt64));
  EXPECT_TRUE(std::isnan(summary.estimation_error));
  // At worst the whole spread comes from the estimates; repeated items then share it.
  const double spread = 0.75 * 4.0 / 3.0;
  EXPECT_NEAR(summary.sampling_error, std::sqrt(spread * (0.5625 + 0.0625)), 1e-12);
  EXPECT_NE(describe(summary, ScoreKind::estimate).find("unknown"), std::string::npos);
}

TEST(ScoreSummary, TheSumOfProbabilitiesKnowsThatNoisyLogarithmsLeanUp) {
  const ItemScores scores{.log_p = torch::full({4}, std::log(0.25), torch::kFloat64),
                          .std_error = torch::full({4}, 1.0, torch::kFloat64)};
  const auto sum = sum_of_probabilities(scores);
  EXPECT_NEAR(sum.value, 1.0, 1e-12);
  EXPECT_NEAR(sum.error, std::hypot(0.5, 0.5), 1e-12) << "four independent errors, and half the variance";
}

}  // namespace
}  // namespace segre::distinct_test
