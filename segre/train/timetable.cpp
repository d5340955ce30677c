#include "segre/train/timetable.h"

#include "segre/train/trainer.h"

namespace segre {
namespace {

constexpr int64_t kPictureEvery = 4;  // validations
// An evaluation costs a third of an item's training; sampling and validation are allowed half as much again.
constexpr double kEvaluationShare = 0.5;

double seconds_of(const Pace& pace, int64_t evaluations) {
  return kEvaluationShare * pace.item * static_cast<double>(evaluations);
}

}  // namespace

Timetable::Timetable(const TrainClock& clock, const TrainLength& length, const WatchOptions& watch)
    : clock_(clock),
      length_(length),
      watch_(watch),
      // Plan for all steps unless there is a time limit, so a resumed run validates at the same steps.
      plan_(plan_watch(clock.limited() ? length.expected : length.steps, length.batch, length.picture)),
      last_save_(clock.now()),
      validation_seconds_(seconds_of(length.pace, watch.evaluations)),
      picture_seconds_(seconds_of(length.pace, length.picture)) {}

int64_t Timetable::steps_that_fit(int64_t total, int64_t step, int64_t n_new) const {
  if (!clock_.limited()) return total;
  const double end = validation_seconds_ + picture_seconds_ + save_seconds_;
  const double left = (clock_.left() - end) * (1.0 - kWatchShare * (1.0 - clock_.progress()));
  const double pace = n_new > 0 ? clock_.training() / static_cast<double>(n_new) : length_.pace.seconds(length_.batch);
  const double fitting = left > 0.0 ? std::max(1.0, left / std::max(1e-9, pace)) : 0.0;
  return static_cast<int64_t>(std::min(static_cast<double>(length_.most), static_cast<double>(step) + fitting));
}

bool Timetable::validation_due(int64_t step, int64_t total) const {
  if (step >= total) return true;
  if (watch_.every > 0) return step % watch_.every == 0;
  if (!clock_.limited()) return step % std::max(kLogEvery, total / plan_.validations) == 0;
  const auto made = static_cast<double>(n_validations_);
  return clock_.progress() * static_cast<double>(plan_.validations) >= made + 1.0;
}

bool Timetable::picture_due() const {
  return (plan_.pictures || watch_.every > 0) && n_validations_ % kPictureEvery == 0;
}

}  // namespace segre
