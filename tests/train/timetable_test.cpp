#include "segre/train/timetable.h"

#include <gtest/gtest.h>

#include "segre/core/clock.h"

namespace segre::timetable_test {
namespace {

// A clock that started `ago` seconds ago.
TrainClock clock_of(double limit = 0.0, double ago = 0.0) {
  return {std::make_shared<AgreedClock>(one_rank(), [] { return false; }), now_seconds() - ago, limit};
}

TrainLength length_of(int64_t steps) {
  return {.steps = steps, .expected = steps, .most = 1'000'000, .batch = 256, .pace = {.step = 0.001}};
}

std::vector<int64_t> validated(const Timetable& timetable, int64_t total) {
  std::vector<int64_t> steps;
  for (int64_t step = 1; step <= total; ++step)
    if (timetable.validation_due(step, total)) steps.push_back(step);
  return steps;
}

TEST(Timetable, WithoutATimeLimitAllStepsFit) {
  const Timetable timetable(clock_of(), length_of(400), {});
  EXPECT_EQ(timetable.steps_that_fit(400, 17, 17), 400);
}

TEST(Timetable, ValidationsAreEvenlySpreadOrAsOftenAsAsked) {
  const auto twenty = validated(Timetable(clock_of(), length_of(4000), {}), 4000);
  ASSERT_EQ(twenty.size(), 20u);
  EXPECT_EQ(twenty.front(), 200);
  EXPECT_EQ(validated(Timetable(clock_of(), length_of(12), {.every = 5}), 12), (std::vector<int64_t>{5, 10, 12}));
  EXPECT_EQ(validated(Timetable(clock_of(), length_of(120), {}), 120).front(), Timetable::kLogEvery)
      << "no more often than the log has lines";
}

TEST(Timetable, EveryFourthValidationHasAPicture) {
  Timetable timetable(clock_of(), length_of(4000), {});
  std::vector<bool> due;
  for (int k = 0; k < 8; ++k) {
    timetable.validate([] {});
    due.push_back(timetable.picture_due());
  }
  EXPECT_EQ(due, (std::vector<bool>{false, false, false, true, false, false, false, true}));
}

TEST(Timetable, UnderATimeLimitAsManyStepsFitAsThePaceAllows) {
  Timetable timetable(clock_of(/*limit=*/100.0), length_of(4000), {});
  timetable.clock().begin_steps();
  // 1 ms each, and a twentieth of the time is left for validations.
  EXPECT_NEAR(static_cast<double>(timetable.steps_that_fit(4000, 0, 0)), 95'000.0, 2'000.0);
  Timetable late(clock_of(/*limit=*/100.0, /*ago=*/200.0), length_of(4000), {});
  EXPECT_EQ(late.steps_that_fit(4000, 7, 0), 7) << "no time is left";
  TrainLength counted = length_of(200);
  counted.most = 200;
  EXPECT_EQ(Timetable(clock_of(100.0), counted, {}).steps_that_fit(200, 0, 0), 200) << "it needs no more";
}

TEST(Timetable, ReservesWhatTheLastValidationTook) {
  Timetable timetable(clock_of(/*limit=*/100.0), length_of(4000), {});
  timetable.clock().begin_steps();
  const int64_t before = timetable.steps_that_fit(4000, 0, 0);
  timetable.validate([] {
    for (const double start = now_seconds(); now_seconds() - start < 0.5;) continue;
  });
  EXPECT_LT(timetable.steps_that_fit(4000, 0, 0), before - 400);
}

}  // namespace
}  // namespace segre::timetable_test
