#include "segre/eval/intervals.h"

#include <cmath>
#include <functional>

#include "tests/support/support.h"

namespace segre::intervals_test {
namespace {

constexpr int kRepeats = 1000;
// 950 of 1000 intervals should cover; five standard deviations of that count are 35, and 10 more for the normal
// approximation at these sizes.
constexpr int kFewest = 950 - 45;
constexpr int kMostCovered = 950 + 40;

bool covers(const Estimate& e, double truth) { return e.low <= truth && truth <= e.high; }

int n_covered(double truth, const std::function<Estimate(uint64_t)>& estimate) {
  int covered = 0;
  for (uint64_t k = 0; k < kRepeats; ++k) covered += covers(estimate(k), truth) ? 1 : 0;
  return covered;
}

torch::Tensor uniforms(int64_t count, uint64_t seed, uint64_t part = 0) {
  return fill_uniform(torch::empty({count}, torch::kFloat64), {seed, Purpose::probe}, part << 32);
}

TEST(ShareEstimate, IsWilsonsInterval) {
  // Textbook values (Brown, Cai, DasGupta 2001; Newcombe 1998: 81/263, 15/148, 0/20, 1/29).
  const auto expect = [](int64_t hits, int64_t total, double low, double high) {
    const Estimate e = share_estimate(hits, total);
    EXPECT_NEAR(e.low, low, 5e-5);
    EXPECT_NEAR(e.high, high, 5e-5);
    EXPECT_EQ(e.value, static_cast<double>(hits) / static_cast<double>(total));
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0.0, 0.1611);
  expect(1, 29, 0.0061, 0.1718);
  EXPECT_EQ(share_estimate(20, 20).high, 1.0);
}

TEST(ShareEstimate, TheTotalForALimitPutsTheIntervalsEndThere) {
  for (const auto& [share, most] : {std::pair{0.0, 0.005}, std::pair{0.001, 0.005}, std::pair{0.2, 0.25}}) {
    const double total = total_for_share_below(share, most);
    EXPECT_NEAR(share_estimate(share * total, total).high, most, 1e-12);
  }
  EXPECT_NEAR(total_for_share_below(0.0, 0.005), 3.8414588 * 0.995 / 0.005, 1e-4);
}

TEST(MeanEstimate, CoversTheMean) {
  const int covered = n_covered(0.5, [](uint64_t k) { return mean_estimate(uniforms(50, k)); });
  EXPECT_GE(covered, kFewest);
  EXPECT_LE(covered, kMostCovered);
}

TEST(SpreadEstimate, CoversTheStandardDeviation) {
  const int covered = n_covered(1 / std::sqrt(12.0), [](uint64_t k) { return spread_estimate(uniforms(100, k)); });
  EXPECT_GE(covered, kFewest);
  EXPECT_LE(covered, kMostCovered);
}

TEST(SpreadEstimate, OfEqualValuesIsZero) { EXPECT_EQ(spread_estimate(torch::ones({5})).high, 0.0); }

TEST(QuantileEstimate, CoversTheQuantile) {
  for (const double q : {0.5, 0.1}) {
    const int covered = n_covered(q, [&](uint64_t k) { return quantile_estimate(uniforms(150, k), q); });
    EXPECT_GE(covered, kFewest) << q;
  }
}

TEST(QuantileEstimate, LiesBetweenTwoValuesWhoseRanksTheBinomialLawGives) {
  // For 1 ... 100, 50 -+ 1.96 sqrt(100 / 4) is 40.2 to 59.8; the ends are rounded up, the upper one by one more.
  const Estimate median = quantile_estimate(torch::arange(1, 101), 0.5);
  EXPECT_EQ(median.value, 50.0);
  EXPECT_EQ(median.low, 41.0);
  EXPECT_EQ(median.high, 61.0);
  // 10 -+ 1.96 * 3 is 4.12 to 15.88.
  const Estimate tenth = quantile_estimate(torch::arange(1, 101).flip(0), 0.1);
  EXPECT_EQ(tenth.value, 10.0);
  EXPECT_EQ(tenth.low, 5.0);
  EXPECT_EQ(tenth.high, 17.0);
}

TEST(MeanEstimate, HasTheErrorOfTheMean) {
  const Estimate e = mean_estimate(torch::tensor({1.0, 2.0, 3.0, 6.0}, torch::kFloat64));
  const double error = std::sqrt((4.0 + 1.0 + 0.0 + 9.0) / 3.0 / 4.0);
  EXPECT_NEAR(e.value, 3.0, 1e-12);
  EXPECT_NEAR(e.low, 3.0 - 1.959963984540054 * error, 1e-12);
  EXPECT_NEAR(e.high, 3.0 + 1.959963984540054 * error, 1e-12);
}

TEST(MeanShareEstimate, IsNeverSureOfNothing) {
  const Estimate none = mean_share_estimate(torch::zeros({20}, torch::kFloat64));
  EXPECT_EQ(none.value, 0.0);
  EXPECT_EQ(none.high, share_estimate(0, 20).high);
  const Estimate all = mean_share_estimate(torch::ones({20}, torch::kFloat64));
  EXPECT_EQ(all.low, share_estimate(20, 20).low);
  // Four shares with mean 1/4 and sample variance 1/24.
  const Estimate some = mean_share_estimate(torch::tensor({0.0, 0.25, 0.25, 0.5}, torch::kFloat64));
  EXPECT_NEAR(some.high, 0.25 + 1.959963984540054 * std::sqrt(1.0 / 24 / 4), 1e-12);
  EXPECT_NEAR(some.low, 0.25 - 1.959963984540054 * std::sqrt(1.0 / 24 / 4), 1e-12);
}

TEST(SpreadEstimate, HasTheErrorOfTheFourthMoment) {
  // Deviations -2, -1, 0, 3: variance 14/3, fourth moment (16 + 1 + 81)/4.
  const Estimate e = spread_estimate(torch::tensor({1.0, 2.0, 3.0, 6.0}, torch::kFloat64));
  const double variance = 14.0 / 3.0;
  const double error = std::sqrt((24.5 - variance * variance) / 4.0) / (2.0 * std::sqrt(variance));
  EXPECT_NEAR(e.value, std::sqrt(variance), 1e-12);
  EXPECT_NEAR(e.low, std::sqrt(variance) - 1.959963984540054 * error, 1e-12);
}

TEST(Difference, OfMeansIsTheNormalIntervalAndCovers) {
  const int covered = n_covered(0.25, [](uint64_t k) {
    return difference(mean_estimate(uniforms(50, k)), mean_estimate(0.5 * uniforms(80, k, 1)));
  });
  EXPECT_GE(covered, kFewest);
  EXPECT_LE(covered, kMostCovered);
}

TEST(Difference, OfCorrelatedEstimatesIsNarrower) {
  // Reaches of 0.3 and 0.4 to one side, 0.6 and 0.8 to the other: 0.5 and 1 if independent.
  const Estimate x{2.0, 1.7, 2.6}, y{1.0, 0.2, 1.4};
  EXPECT_NEAR(difference(x, y).low, 1.0 - 0.5, 1e-12);
  EXPECT_NEAR(difference(x, y).high, 1.0 + 1.0, 1e-12);
  EXPECT_NEAR(difference(x, y, 0.5).low, 1.0 - std::sqrt(0.25 - 0.12), 1e-12);
  EXPECT_NEAR(difference(x, y, 0.5).high, 1.0 + std::sqrt(1.0 - 0.48), 1e-12);
  EXPECT_NEAR(difference(x, y, -1.0).high, 1.0 + 1.4, 1e-12);
  EXPECT_NEAR(difference(x, x, 1.0).low, -0.3, 1e-12) << "to one side 0.3, to the other 0.6";
}

TEST(Difference, OfSharesIsNewcombesInterval) {
  // Newcombe (1998), method 10: 56/70 - 48/80 is 0.0524 to 0.3339.
  const Estimate e = difference(share_estimate(56, 70), share_estimate(48, 80));
  EXPECT_NEAR(e.low, 0.0524, 5e-5);
  EXPECT_NEAR(e.high, 0.3339, 5e-5);
}

TEST(ProbabilityBelow, CountsPairsAndHalvesTies) {
  const auto x = torch::tensor({1, 3, 3, 7}, torch::kInt64);
  const auto y = torch::tensor({3, 0, 9}, torch::kInt64);
  // Below: 1<3, and all four below 9; ties: 3=3 twice.
  EXPECT_NEAR(probability_below(x, y).value, (5 + 2 * 0.5) / 12, 1e-12);
  EXPECT_NEAR(probability_below(y, x).value, 1 - 0.5, 1e-12);
}

TEST(ProbabilityBelow, HasDeLongsInterval) {
  // No ties, one side shifted: components by loops.
  const auto x = test::noise({12}, 1);
  const auto y = test::noise({9}, 2) + 0.5;
  std::vector<double> of_x(12, 0.0), of_y(9, 0.0);
  double mean = 0.0;
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 9; ++j) {
      const double below = x[i].item<double>() < y[j].item<double>() ? 1.0 : 0.0;
      of_x[i] += below / 9;
      of_y[j] += below / 12;
      mean += below / (12 * 9);
    }
  double variance = 0.0;
  for (const double v : of_x) variance += (v - mean) * (v - mean) / (11 * 12);
  for (const double v : of_y) variance += (v - mean) * (v - mean) / (8 * 9);
  const Estimate e = probability_below(x, y);
  EXPECT_NEAR(e.value, mean, 1e-12);
  // On the logit scale the error is that of the mean, divided by the slope.
  const double centre = std::log(mean / (1.0 - mean));
  const double reach = 1.959964 * std::sqrt(variance) / (mean * (1.0 - mean));
  EXPECT_NEAR(e.low, 1.0 / (1.0 + std::exp(reach - centre)), 1e-6);
  EXPECT_NEAR(e.high, 1.0 / (1.0 + std::exp(-reach - centre)), 1e-6);
}

TEST(ProbabilityBelow, CoversUnderTies) {
  // x is uniform on 0 ... 4, y on 1 ... 5: counted over the 25 pairs.
  double truth = 0.0;
  for (int a = 0; a < 5; ++a)
    for (int b = 1; b < 6; ++b) truth += (a < b ? 1.0 : a == b ? 0.5 : 0.0) / 25;
  const int covered = n_covered(truth, [](uint64_t k) {
    return probability_below((5 * uniforms(60, k)).floor(), (5 * uniforms(90, k, 1)).floor() + 1);
  });
  EXPECT_GE(covered, kFewest);
  EXPECT_LE(covered, kMostCovered);
}

TEST(QuantileOf, IsOneOfTheValues) {
  EXPECT_EQ(quantile_of({3, 1, 2, 4}, 0.5), 2);
  EXPECT_EQ(quantile_of({3, 1, 2, 4}, 0.51), 3);
  EXPECT_EQ(quantile_of({3, 1, 2, 4}, -1.0), 1);
  EXPECT_EQ(quantile_of({3, 1, 2, 4}, 2.0), 4);
}

TEST(Intervals, RefuseFewerThanTwoValues) {
  EXPECT_EQ(test::input_error([] { mean_estimate(torch::ones({1})); }), "an interval needs at least two values");
  EXPECT_EQ(test::input_error([] { share_estimate(0, 0); }), "a share needs at least one item");
}

}  // namespace
}  // namespace segre::intervals_test
