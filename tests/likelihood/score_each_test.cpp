// Every item gets the evaluations it needs for its own error.

#include "segre/likelihood/score_each.h"
#include "segre/path/e_geodesic.h"

#include "tests/support/reference.h"

namespace segre::score_each_test {
namespace {

struct Setting {
  JointOracle oracle{test::random_joint(test::binary_space(3), 7), make_e_geodesic(0.01)};
  Flow flow = flow_of(oracle);
  torch::Tensor labels = oracle.table().labelings;

  EachScores score(const EachTarget& target, uint64_t seed = 1) const {
    return score_each(flow, TimeDensity(1.0), {.times = 32, .seed = seed}, labels, target, nullptr);
  }
};

TEST(ScoreEach, EveryItemReachesTheErrorAndNoneGetsMuchMoreThanItNeeds) {
  const Setting s;
  const auto found = s.score({.error = 0.05});
  EXPECT_FALSE(found.capped);
  EXPECT_LE(found.scores.std_error.max().item<double>(), 0.05);
  const auto off = (found.scores.log_p - s.oracle.log_p(s.labels)).abs().max().item<double>();
  EXPECT_LT(off, 5.0 * 0.05);
  EXPECT_GT(found.spent.max().item<int64_t>(), found.spent.min().item<int64_t>()) << "noisy ones get more";
  // Before the last round, which doubled what they had, their errors were too large.
  const auto most = found.spent == found.spent.max();
  const auto before = found.scores.std_error.masked_select(most) * std::sqrt(2.0);
  EXPECT_GT(before.max().item<double>(), 0.8 * 0.05);
}

TEST(ScoreEach, TheMostIsKeptAndSaid) {
  const Setting s;
  const auto found = s.score({.error = 1e-4, .most = 100});
  EXPECT_TRUE(found.capped);
  EXPECT_EQ(found.spent.min().item<int64_t>(), 100);
  EXPECT_EQ(found.spent.max().item<int64_t>(), 100);
}

TEST(ScoreEach, WhatTheFirstRoundsSufficeForIsTheRefinementsOwn) {
  const Setting s;
  const auto found = s.score({.error = 100.0}, 3);
  const auto refinement = refine_free_bound(s.flow, TimeDensity(1.0), {.times = 32, .seed = 3}, s.labels);
  refinement->spend(found.spent[0].item<int64_t>(), nullptr);
  EXPECT_TRUE(torch::equal(found.scores.log_p, refinement->scores().log_p));
  EXPECT_LT(test::max_difference(found.scores.std_error, refinement->scores().std_error), 1e-12);
}

TEST(ScoreEach, LaterRoundsHaveNoiseOfTheirOwn) {
  const Setting s;
  const auto errors = [&](const EachScores& found) {
    return ((found.scores.log_p - s.oracle.log_p(s.labels)) / found.scores.std_error).square().mean().item<double>();
  };
  double mean = 0.0;
  constexpr int kSeeds = 20;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) mean += errors(s.score({.error = 0.05}, seed)) / kSeeds;
  // 160 squares in standard errors; repeated noise would make them at least twice as large.
  EXPECT_GT(mean, 0.6);
  EXPECT_LT(mean, 1.6);
}

}  // namespace
}  // namespace segre::score_each_test
