#include "segre/experiment/watch_plan.h"

#include "tests/support/support.h"

namespace segre::watch_plan_test {
namespace {

// Evaluations spent, as a share of what the steps cost: three evaluations per item.
double share(const WatchPlan& plan, int64_t steps, int64_t batch, int64_t picture) {
  const double pictures = plan.pictures ? 5.0 : 1.0;
  return (static_cast<double>(plan.validations * plan.evaluations) + pictures * static_cast<double>(picture)) /
         (3.0 * static_cast<double>(steps * batch));
}

TEST(WatchPlan, ALongTrainingIsLookedAtTwentyTimes) {
  const auto plan = plan_watch(20'000, 256, 320);
  EXPECT_EQ(plan.validations, 20);
  EXPECT_EQ(plan.evaluations, 8192);
  EXPECT_TRUE(plan.pictures);
}

TEST(WatchPlan, AShortOneLessOften) {
  // 5% of 3 * 600 * 8 are 720 evaluations, 320 of them for the picture at the end.
  const auto plan = plan_watch(600, 8, 320);
  EXPECT_EQ(plan.validations, 3);
  EXPECT_EQ(plan.evaluations, 133);
  EXPECT_FALSE(plan.pictures);
}

TEST(WatchPlan, StaysWithinItsShareWhereThatIsEnoughToSeeAnything) {
  for (const int64_t steps : {400, 1'000, 5'000, 100'000})
    for (const int64_t batch : {8, 32, 256})
      for (const int64_t picture : {0, 320}) {
        const auto plan = plan_watch(steps, batch, picture);
        if (kWatchShare * 3.0 * static_cast<double>(steps * batch) < 450.0 + static_cast<double>(picture)) continue;
        EXPECT_LE(share(plan, steps, batch, picture), kWatchShare) << steps << " " << batch << " " << picture;
      }
}

TEST(WatchPlan, TheShortestIsLookedAtTwice) {
  const auto plan = plan_watch(1, 1, 320);
  EXPECT_EQ(plan.validations, 2);
  EXPECT_EQ(plan.evaluations, 64);
}

TEST(WatchPlan, HugeNumbersDoNotOverflow) {
  EXPECT_EQ(plan_watch(1'000'000'000'000, 1'000'000'000, 0).validations, 20);
}

TEST(WatchPlan, OnlyImagesHavePictures) {
  Experiment e;
  e.watch.grid = 16;
  e.sample.steps = 19;
  EXPECT_EQ(picture_evaluations(e, Space::image(4, 4, 2)), 320);
  EXPECT_EQ(picture_evaluations(e, Space::sequence(4, 2)), 0);
}

}  // namespace
}  // namespace segre::watch_plan_test
