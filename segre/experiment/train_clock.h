#pragma once  // internal

#include <algorithm>

#include "segre/core/progress.h"

namespace segre {

/// Accounts for the time of a training: its steps, and watching them (validations, pictures, checkpoints). Rates count
/// steps only; the limit covers everything since `started`.
class TrainClock {
 public:
  /// `limit` in seconds since `started` (a now_seconds()); 0: none.
  TrainClock(double started, double limit) : started_(started), limit_(limit) {}

  /// Call right before the first step.
  void begin_steps() {
    first_step_at_ = now_seconds();
    watching_ = 0.0;
  }
  bool limited() const { return limit_ > 0.0; }
  double limit() const { return limit_; }
  /// Seconds since `started`.
  double elapsed() const { return now_seconds() - started_; }
  /// Seconds left until the limit; negative after it.
  double left() const { return limit_ - elapsed(); }
  /// Seconds spent on steps.
  double training() const { return now_seconds() - first_step_at_ - watching_; }
  /// Share of the limit used up, counted from the first step: 0 to 1.
  double progress() const {
    return std::clamp((now_seconds() - first_step_at_) / std::max(1e-9, started_ + limit_ - first_step_at_), 0.0, 1.0);
  }
  /// Does work that is not training; returns its duration.
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
