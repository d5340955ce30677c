// Every item gets the evaluations it needs for its own error.

#include "segre/likelihood/score_each.h"

#include <cmath>

#include "segre/core/deadline.h"
#include "segre/core/rng.h"
#include "segre/path/e_geodesic.h"
#include "tests/support/reference.h"

namespace segre::score_each_test {
namespace {

struct Setting {
  JointOracle oracle{test::random_joint(test::binary_space(3), 7), make_e_geodesic(0.01)};
  Flow flow = flow_of(oracle);
  torch::Tensor labels = oracle.table().labelings;

  ReachedEach score(const EachTarget& target, uint64_t seed = 1) const {
    return score_each(flow, TimeDensity(1.0), {.times = 32, .seed = seed}, labels, target, nullptr);
  }
};

TEST(ScoreEach, EveryItemReachesTheErrorAndNoneGetsMuchMoreThanItNeeds) {
  const Setting s;
  constexpr double kError = 0.02;
  const auto found = s.score({.error = kError});
  EXPECT_FALSE(found.capped);
  EXPECT_LE(found.scores.std_error.max().item<double>(), kError);
  EXPECT_GT(found.spent.max().item<int64_t>(), found.spent.min().item<int64_t>()) << "noisy ones get more";
  // A round doubles what an item has had, after an error that is as large as wanted or 1.2 times the variance: a factor
  // of 1 / sqrt(2.4), and the error of a trial with 32 evaluations or more, which is known to a quarter.
  const auto later = found.spent > 32;
  EXPECT_GT(found.scores.std_error.masked_select(later).min().item<double>(), kError / std::sqrt(2.4) * 0.75);
}

TEST(ScoreEach, TheMostIsKeptAndSaid) {
  const Setting s;
  const auto found = s.score({.error = 1e-4, .most = 100});
  EXPECT_TRUE(found.capped);
  EXPECT_EQ(found.spent.min().item<int64_t>(), 100);
  EXPECT_EQ(found.spent.max().item<int64_t>(), 100);
}

// The trial may not use up what the scores need.
TEST(ScoreEach, ABudgetIsKeptAndMostOfItAveraged) {
  const Setting s;
  const TimeDensity density(1.0);
  const double cost_each = refine_free_bound(s.flow, density, {.times = 32}, s.labels.slice(0, 0, 1))->cost();
  constexpr double kEach = 1500.0;  // evaluations
  const auto n_items = static_cast<double>(s.labels.size(0));
  const auto found = s.score({.error = 1e-6, .work = kEach * n_items * cost_each});
  EXPECT_TRUE(found.capped);
  // The trial may take 300, so 256 are enough for it, and the scores 1200: rounds of 32, 32, 64, ... add up to 1024.
  EXPECT_EQ(found.spent.min().item<int64_t>(), 1024);
  EXPECT_EQ(found.spent.max().item<int64_t>(), 1024);
}

TEST(ScoreEach, WhatTheFirstRoundSufficesForIsTheBoundsOwn) {
  const Setting s;
  const auto found = s.score({.error = 100.0}, 3);
  EXPECT_TRUE((found.spent == 32).all().item<bool>());
  const auto bound = [&](uint64_t seed) {
    return FreeBound(s.flow, TimeDensity(1.0), {.times = 32, .seed = seed})(s.labels);
  };
  const auto own = bound(3);
  EXPECT_TRUE(torch::equal(found.scores.log_p, own.log_p));
  // The spread is that of these evaluations and of as many of the trial.
  const auto variance = (own.std_error.square() + bound(trial_seed(3)).std_error.square()) / 2.0;
  EXPECT_LT(test::max_difference(found.scores.std_error, variance.sqrt()), 1e-12);
}

TEST(ScoreEach, ADeadlineLeavesLargerErrorsAndProgressOnlyRises) {
  const Setting s;
  const DeadlineGuard guard(0.5);
  std::vector<std::pair<int64_t, int64_t>> progress;
  const auto found =
      score_each(s.flow, TimeDensity(1.0), {.times = 32}, s.labels, {.error = 1e-9, .most = int64_t{1} << 40},
                 [&](int64_t done, int64_t total) { progress.emplace_back(done, total); });
  EXPECT_TRUE(found.out_of_time);
  EXPECT_TRUE(found.capped);
  EXPECT_GE(found.spent.min().item<int64_t>(), 32);
  const auto off = (found.scores.log_p - s.oracle.log_p(s.labels)).abs();
  EXPECT_LT((off / found.scores.std_error).max().item<double>(), 6.0);
  for (size_t k = 0; k < progress.size(); ++k) {
    EXPECT_LE(progress[k].first, progress[k].second);
    EXPECT_GE(progress[k].first, progress[std::max<size_t>(k, 1) - 1].first);
  }
  EXPECT_THROW(s.score({.error = 1e-9}), DeadlineExceeded) << "nothing was scored in time";
}

// What 60 seeds say of one seed's items: the mean square of their deviations in standard errors, the mean deviation in
// nats with its standard error, and the largest standard error that was printed.
struct Deviations {
  double squares = 0.0;
  double mean = 0.0;
  double error = 0.0;
  double largest = 0.0;
};
Deviations deviations(const Setting& s, double error, bool control) {
  const auto exact = s.oracle.log_p(s.labels);
  std::vector<double> squares, off;
  double largest = 0.0;
  constexpr int kSeeds = 60;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto found = score_each(s.flow, TimeDensity(1.0), {.times = 16, .control = control, .seed = seed}, s.labels,
                                  {.error = error}, nullptr);
    const auto differences = found.scores.log_p - exact;
    squares.push_back((differences / found.scores.std_error).square().mean().item<double>());
    off.push_back(differences.mean().item<double>());
    largest = std::max(largest, found.scores.std_error.max().item<double>());
  }
  const auto mean = test::tensor_of(off);
  return {test::tensor_of(squares).mean().item<double>(), mean.mean().item<double>(),
          mean.std().item<double>() / std::sqrt(static_cast<double>(kSeeds)), largest};
}

TEST(ScoreEach, ErrorsAreReachedAndTrue) {
  const Setting s;
  for (const bool control : {true, false}) {
    // Small enough that items need many times the first evaluations: the error of few has a square of 1.3 on average.
    const double error = control ? 0.02 : 0.05;
    const auto found = deviations(s, error, control);
    EXPECT_LE(found.largest, error) << control;
    EXPECT_NEAR(found.squares, 1.0, 0.2) << control;
    EXPECT_LT(std::abs(found.mean), 4.0 * found.error) << control;
  }
}

}  // namespace
}  // namespace segre::score_each_test
