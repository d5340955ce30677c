#pragma once  // internal

#include "segre/train/pace.h"
#include "segre/train/train_clock.h"
#include "segre/train/watch_plan.h"

namespace segre {

/// When a training does what: how many steps it takes, when it validates, draws pictures and saves. Under a time limit
/// it reserves time for the last validation, picture and checkpoint: first an estimate, then the last measurement.
class Timetable {
 public:
  static constexpr int64_t kLogEvery = 50;  ///< steps per line of the log

  Timetable(const TrainClock& clock, const TrainLength& length, const WatchOptions& watch);

  TrainClock& clock() { return clock_; }
  const TrainClock& clock() const { return clock_; }
  /// The number of steps that a training of `total` steps should have, after `step` of them and `n_new` in this part of
  /// it. Under a time limit the schedule follows the clock: the share of steps done is the share of time used, so the
  /// learning rate falls evenly in time.
  int64_t steps_that_fit(int64_t total, int64_t step, int64_t n_new) const;
  /// Validations are due at regular steps or, under a time limit, at regular times; and at the end.
  bool validation_due(int64_t step, int64_t total) const;
  /// Whether the validation just made is one of those with a picture. There is one at the end in any case.
  bool picture_due() const;
  bool save_due() const { return clock_.now() - last_save_ > watch_.save_seconds; }

  /// These do the work and measure it.
  template <class Work>
  void validate(Work&& work) {
    validation_seconds_ = clock_.watch(work);
    ++n_validations_;
  }
  template <class Work>
  void draw(Work&& work) {
    picture_seconds_ = clock_.watch(work);
  }
  template <class Work>
  void save(Work&& work) {
    save_seconds_ = clock_.watch(work);
    last_save_ = clock_.now();
  }

 private:
  TrainClock clock_;
  TrainLength length_;
  WatchOptions watch_;
  WatchPlan plan_;
  int64_t n_validations_ = 0;
  double last_save_;
  double validation_seconds_;
  double picture_seconds_;
  double save_seconds_ = 0.0;
};

}  // namespace segre
