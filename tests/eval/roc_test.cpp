#include "segre/eval/roc.h"

#include <cmath>
#include <limits>

#include "segre/eval/intervals.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::roc_test {
namespace {

using Scores = std::vector<double>;

constexpr double kRounding = 1e-12;  // of sums of a few hundred numbers in [0, 1]

Scores normals(int64_t count, uint64_t seed, double shift, double step = 0.0) {
  const auto z = test::noise({count}, seed) + shift;
  const auto x = step > 0.0 ? (z / step).round() * step : z;  // rounded: with ties
  return {x.data_ptr<double>(), x.data_ptr<double>() + count};
}

// All pairs, and DeLong's variance from its definition.
struct BruteForce {
  double auroc = 0.0;
  double variance = 0.0;
};

double pair_score(double inside, double outside) { return outside > inside ? 1.0 : outside == inside ? 0.5 : 0.0; }

BruteForce brute_force(const Scores& x, const Scores& y) {
  const auto m = static_cast<double>(x.size());
  const auto n = static_cast<double>(y.size());
  BruteForce out;
  for (const double a : x)
    for (const double b : y) out.auroc += pair_score(a, b) / (m * n);
  for (const double a : x) {
    double v = 0.0;
    for (const double b : y) v += pair_score(a, b) / n;
    out.variance += (v - out.auroc) * (v - out.auroc) / ((m - 1.0) * m);
  }
  for (const double b : y) {
    double v = 0.0;
    for (const double a : x) v += pair_score(a, b) / m;
    out.variance += (v - out.auroc) * (v - out.auroc) / ((n - 1.0) * n);
  }
  return out;
}

TEST(Roc, IsWhatOneCountsByHand) {
  // Pairs in order: 2 > 1, 2 = 2 (half), 4 > all three, 3 > 1, 3 > 2, 3 < 3.5.
  const Roc out = roc({1.0, 2.0, 3.5}, {2.0, 4.0, 3.0});
  EXPECT_NEAR(out.auroc, (1.5 + 3.0 + 2.0) / 9.0, kRounding);
}

TEST(Roc, AgreesWithAllPairsAndDeLongsDefinition) {
  for (const double step : {0.0, 0.5})
    for (const double shift : {-1.0, 0.0, 0.7, 2.0}) {
      const auto x = normals(83, 1, 0.0, step);
      const auto y = normals(61, 2, shift, step);
      const Roc out = roc(x, y);
      const BruteForce wanted = brute_force(x, y);
      EXPECT_NEAR(out.auroc, wanted.auroc, kRounding);
      const double half = (std::log(out.high / (1.0 - out.high)) - std::log(out.low / (1.0 - out.low))) / 2.0;
      EXPECT_NEAR(half, 1.959963984540054 * std::sqrt(wanted.variance) / (wanted.auroc * (1.0 - wanted.auroc)), 1e-9);
    }
}

TEST(Roc, ReversingTheScoreReversesEverything) {
  const auto x = normals(40, 3, 0.0);
  const auto y = normals(50, 4, 1.0);
  Scores minus_x = x, minus_y = y;
  for (double& value : minus_x) value = -value;
  for (double& value : minus_y) value = -value;
  const Roc out = roc(x, y);
  const Roc reversed = roc(minus_x, minus_y);
  EXPECT_NEAR(reversed.auroc, 1.0 - out.auroc, kRounding);
  EXPECT_NEAR(reversed.low, 1.0 - out.high, kRounding);
  EXPECT_NEAR(reversed.high, 1.0 - out.low, kRounding);
}

TEST(Roc, OnlyTheOrderOfScoresCounts) {
  const auto x = normals(40, 5, 0.0);
  const auto y = normals(50, 6, 1.0);
  Scores exp_x = x, exp_y = y;
  for (double& value : exp_x) value = std::exp(3.0 * value);
  for (double& value : exp_y) value = std::exp(3.0 * value);
  EXPECT_EQ(roc(x, y).auroc, roc(exp_x, exp_y).auroc);
  EXPECT_EQ(roc(x, y).fpr95, roc(exp_x, exp_y).fpr95);
}

TEST(Roc, SamplesApartGetAnIntervalThatShrinksWithTheirNumber) {
  // k pairs, all in order: the chance of that is A^k, which is 2.5% for A = 0.025^(1/k).
  const Roc few = roc({1.0, 2.0}, {3.0, 4.0, 5.0});
  EXPECT_EQ(few.auroc, 1.0);
  EXPECT_EQ(few.high, 1.0);
  EXPECT_NEAR(few.low * few.low, 0.025, kRounding);
  const Roc many = roc(Scores(1000, 0.0), Scores(1000, 1.0));
  EXPECT_NEAR(many.low, std::exp(std::log(0.025) / 1000.0), kRounding);
  const Roc backwards = roc({3.0, 4.0, 5.0}, {1.0, 2.0});
  EXPECT_EQ(backwards.auroc, 0.0);
  EXPECT_EQ(backwards.low, 0.0);
  EXPECT_NEAR(backwards.high, 1.0 - few.low, kRounding);
}

TEST(Roc, AConstantScoreIsChance) {
  const Roc out = roc(Scores(10, 7.0), Scores(20, 7.0));
  EXPECT_EQ(out.auroc, 0.5);
  EXPECT_EQ(out.fpr95, 1.0) << "a threshold that accepts the inside accepts all";
}

TEST(Roc, FalsePositivesAreCountedAtTheThresholdThatAccepts95PercentOfInside) {
  Scores inside;
  for (int k = 1; k <= 20; ++k) inside.push_back(k);  // 19 of 20 are at most 19
  EXPECT_EQ(roc(inside, {18.0, 19.0, 19.5, 25.0}).fpr95, 0.5);
  inside.push_back(21.0);  // 95% of 21 is 19.95: 20 items, up to 20
  EXPECT_EQ(roc(inside, {18.0, 19.0, 19.5, 25.0}).fpr95, 0.75);
}

TEST(Roc, TheFalsePositivesHaveTheErrorOfTheThresholdAndOfTheShare) {
  // Inside 1 ... 400: the threshold is 380, with ranks 380 -+ 1.96 sqrt(400 * 0.95 * 0.05) = 371.5 to 388.5, and one
  // more at the upper end: items 372 and 390.
  Scores inside, outside;
  for (int k = 1; k <= 400; ++k) inside.push_back(k);
  for (int k = 1; k <= 100; ++k) outside.push_back(340.5 + k);  // 39 accepted, 31 at 372, 49 at 390
  const Roc out = roc(inside, outside);
  const Estimate share = share_estimate(39, 100);
  EXPECT_EQ(out.fpr95, 0.39);
  EXPECT_NEAR(out.fpr95_low, 0.39 - std::hypot(0.39 - 0.31, 0.39 - share.low), kRounding);
  EXPECT_NEAR(out.fpr95_high, 0.39 + std::hypot(0.49 - 0.39, share.high - 0.39), kRounding);
  // With 20 items the 95% threshold may be anywhere above.
  EXPECT_EQ(roc(Scores(inside.begin(), inside.begin() + 20), {18.0, 19.0, 19.5, 25.0}).fpr95_high, 1.0);
}

TEST(Roc, TheIntervalOfFalsePositivesHoldsTheTruth) {
  // P(N(2, 1) <= the 95% quantile of N(0, 1)).
  const double truth = 0.5 * std::erfc(-(1.6448536269514722 - 2.0) / std::sqrt(2.0));
  int held = 0;
  for (uint64_t k = 0; k < 500; ++k) {
    const Roc out = roc(normals(300, 2 * k + 7000, 0.0), normals(200, 2 * k + 7001, 2.0));
    held += out.fpr95_low <= truth && truth <= out.fpr95_high;
  }
  EXPECT_GE(held, 475 - 25);  // five standard deviations of 500 trials
}

TEST(AurocCorrelation, IsDeLongsCovarianceOverTheTwoErrors) {
  const auto noisy = [](const Scores& x, uint64_t seed) {
    Scores out = normals(static_cast<int64_t>(x.size()), seed, 0.0, 0.5);
    for (size_t k = 0; k < x.size(); ++k) out[k] += x[k];
    return out;
  };
  const Scores x = normals(30, 11, 0.0), y = normals(25, 12, 0.7);
  const RocSamples a{x, y}, b{noisy(x, 13), noisy(y, 14)};
  // From the definition, over all pairs: cov = S10/m + S01/n.
  const auto covariance = [](const RocSamples& p, const RocSamples& q) {
    const double p_auroc = brute_force(p.inside, p.outside).auroc, q_auroc = brute_force(q.inside, q.outside).auroc;
    double total = 0.0;
    for (size_t i = 0; i < p.inside.size(); ++i) {
      double vp = 0.0, vq = 0.0;
      for (const double other : p.outside) vp += pair_score(p.inside[i], other) / 25.0;
      for (const double other : q.outside) vq += pair_score(q.inside[i], other) / 25.0;
      total += (vp - p_auroc) * (vq - q_auroc) / (29.0 * 30.0);
    }
    for (size_t j = 0; j < p.outside.size(); ++j) {
      double vp = 0.0, vq = 0.0;
      for (const double other : p.inside) vp += pair_score(other, p.outside[j]) / 30.0;
      for (const double other : q.inside) vq += pair_score(other, q.outside[j]) / 30.0;
      total += (vp - p_auroc) * (vq - q_auroc) / (24.0 * 25.0);
    }
    return total;
  };
  EXPECT_NEAR(auroc_correlation(a, b), covariance(a, b) / std::sqrt(covariance(a, a) * covariance(b, b)), 1e-10);
  EXPECT_NEAR(auroc_correlation(a, a), 1.0, 1e-10);
  EXPECT_EQ(auroc_correlation(a, {Scores(30, 1.0), Scores(25, 1.0)}), 0.0) << "a constant has no error";
  EXPECT_EQ(test::any_error([&] {
              auroc_correlation(a, {x, x});
            }),
            "two scores must be compared on the same items, found 30 and 30 inside, 25 and 30 outside");
}

TEST(Roc, InfiniteScoresAreOrderedAndNaNIsRefused) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(roc({-inf, 0.0}, {inf, inf}).auroc, 1.0);
  EXPECT_EQ(test::any_error([] { roc({0.0, std::nan("")}, {1.0, 2.0}); }), "a score is not a number");
}

TEST(Roc, ASingleItemIsTooFew) {
  EXPECT_EQ(test::input_error([] {
              roc({0.0}, {1.0, 2.0});
            }),
            "comparing scores needs two inside and two outside items, found 1 and 2");
}

// How often the interval covers the true AUROC of normal scores a distance apart.
double coverage(double shift, int64_t m, int64_t n, int trials) {
  const double truth = 0.5 * std::erfc(-shift / 2.0);  // P(N(shift, 2) > 0)
  int held = 0;
  for (int k = 0; k < trials; ++k) {
    const auto seed = static_cast<uint64_t>(2 * k + 100);
    const Roc out = roc(normals(m, seed, 0.0), normals(n, seed + 1, shift));
    held += out.low <= truth && truth <= out.high;
  }
  return held / static_cast<double>(trials);
}

TEST(Roc, TheIntervalHoldsTheTruthAsOftenAsItSays) {
  // 2,000 trials: standard error 0.5%, so 2% is four of them; the interval itself is asymptotic.
  for (const double shift : {0.0, 1.0, 2.0}) EXPECT_NEAR(coverage(shift, 60, 40, 2000), 0.95, 0.02) << shift;
  // Near 1 it may be too wide, never much too narrow.
  EXPECT_GT(coverage(3.5, 60, 40, 2000), 0.93);
  EXPECT_GT(coverage(5.0, 30, 30, 2000), 0.93);
}

}  // namespace
}  // namespace segre::roc_test
