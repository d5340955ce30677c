#pragma once

#include <algorithm>

#include "segre/core/progress.h"

namespace segre {

/// Where the time of a training goes: into its steps, and into watching them (validations, pictures, checkpoints).
/// Rates are of steps alone; a limit is for everything since `started`.
class TrainClock {
 public:
  /// `limit` in seconds since `started` (a now_seconds()); 0: none.
  TrainClock(double started, double limit) : started_(started), limit_(limit) {}

  /// The first step is next.
  void begin_steps() {
    first_step_at_ = now_seconds();
    watching_ = 0.0;
  }
  bool limited() const { return limit_ > 0.0; }
  double limit() const { return limit_; }
  /// Seconds since `started`.
  double elapsed() const { return now_seconds() - started_; }
  /// Seconds of the limit that are left; negative when it is over.
  double left() const { return limit_ - elapsed(); }
  /// Seconds spent on steps.
  double training() const { return now_seconds() - first_step_at_ - watching_; }
  /// Share of the limit that is gone, counted from the first step: 0 to 1.
  double progress() const {
    return std::clamp((now_seconds() - first_step_at_) / std::max(1e-9, started_ + limit_ - first_step_at_), 0.0, 1.0);
  }
  /// Does work that is no training; returns how long it took.
  template <class Work>
  double watch(Work&& work) {
    const double start = now_seconds();
    work();
    const double seconds = now_seconds() - start;
    watching_ += seconds;
    return seconds;
  }

 private:
  double started_;
  double limit_;
  double first_step_at_ = now_seconds();
  double watching_ = 0.0;
};

}  // namespace segre
