#include "segre/train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace segre::schedule_test {
namespace {

constexpr double kRate = 2e-3;
constexpr int64_t kSteps = 1100;
constexpr int64_t kWarmup = 100;
constexpr double kRounding = 1e-15;

TEST(Schedule, WarmsUpLinearlyFromTheFirstStep) {
  const ScheduleOptions options{kRate, kWarmup, ScheduleKind::cosine};
  EXPECT_NEAR(learning_rate(options, 0, kSteps), kRate / 100, kRounding);
  EXPECT_NEAR(learning_rate(options, 49, kSteps), kRate / 2, kRounding);
  EXPECT_NEAR(learning_rate(options, 99, kSteps), kRate, kRounding);
  EXPECT_NEAR(learning_rate(options, 100, kSteps), kRate, kRounding);
}

TEST(Schedule, CosineIsHalfAtHalfAndNearlyNothingAtTheLastStep) {
  const ScheduleOptions options{kRate, kWarmup, ScheduleKind::cosine};
  EXPECT_NEAR(learning_rate(options, 600, kSteps), kRate / 2, kRounding);
  EXPECT_NEAR(learning_rate(options, 350, kSteps), kRate * (0.5 + std::sqrt(0.125)), kRounding);
  const double last = learning_rate(options, kSteps - 1, kSteps);
  EXPECT_GT(last, 0.0);  // the last step still moves
  EXPECT_LT(last, 1e-5 * kRate);
  EXPECT_NEAR(learning_rate(options, kSteps + 50, kSteps), 0.0, kRounding);
}

TEST(Schedule, WithoutWarmupItStartsAtItsHighest) {
  EXPECT_EQ(learning_rate({kRate, 0, ScheduleKind::cosine}, 0, kSteps), kRate);
}

TEST(Schedule, ConstantStaysAfterWarmup) {
  const ScheduleOptions options{kRate, kWarmup, ScheduleKind::constant};
  EXPECT_NEAR(learning_rate(options, 24, kSteps), kRate / 4, kRounding);
  EXPECT_EQ(learning_rate(options, kWarmup, kSteps), kRate);
  EXPECT_EQ(learning_rate(options, kSteps - 1, kSteps), kRate);
}

TEST(Schedule, FallsSteadilyAfterWarmup) {
  const ScheduleOptions options{kRate, kWarmup, ScheduleKind::cosine};
  for (int64_t step = kWarmup; step + 1 < kSteps; ++step)
    ASSERT_GT(learning_rate(options, step, kSteps), learning_rate(options, step + 1, kSteps)) << step;
}

// Otherwise training would end while the rate is still rising.
TEST(Schedule, AWarmupThatDoesNotFitTakesATenthOfTheSteps) {
  for (const int64_t warmup : {100, 200}) {
    const ScheduleOptions options{kRate, warmup, ScheduleKind::cosine};
    EXPECT_NEAR(learning_rate(options, 0, 100), kRate / 10, kRounding);
    EXPECT_NEAR(learning_rate(options, 9, 100), kRate, kRounding);
    EXPECT_NEAR(learning_rate(options, 55, 100), kRate / 2, kRounding);
    EXPECT_LT(learning_rate(options, 99, 100), 1e-3 * kRate);
    EXPECT_NEAR(learning_rate(options, 150, 100), 0.0, kRounding);
  }
  // A warmup just shorter than the training is kept as asked for; a few steps have no tenth.
  EXPECT_NEAR(learning_rate({kRate, 99, ScheduleKind::cosine}, 0, 100), kRate / 99, kRounding);
  EXPECT_EQ(learning_rate({kRate, 99, ScheduleKind::cosine}, 0, 3), kRate);
}

}  // namespace
}  // namespace segre::schedule_test
