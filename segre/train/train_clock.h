#pragma once  // internal

#include <algorithm>
#include <functional>

#include "segre/ranks/ranks.h"

namespace segre {

/// The time by which a training decides, and whether it is to stop: the same on all ranks, since whoever saves,
/// validates or ends must do so together. A program alone reads its own clock each time; several ranks use that of
/// rank 0 at their last agreement.
class AgreedClock {
 public:
  /// `stop`: whether this rank is to end the training.
  AgreedClock(std::shared_ptr<Ranks> ranks, std::function<bool()> stop);

  /// Agrees on the time and on stopping; all ranks must call it.
  void agree();
  /// The same, at this step, if enough time has passed since the last agreement for its cost not to count.
  void agree_at(int64_t step);
  /// Seconds, as now_seconds() of rank 0.
  double now() const;
  /// Whether any rank is to stop.
  bool stop() const;
  Ranks& ranks() const { return *ranks_; }

 private:
  std::shared_ptr<Ranks> ranks_;
  std::function<bool()> asked_;
  double now_ = 0.0;
  bool stop_ = false;
  int64_t last_step_ = 0;  // of the last agreement
  int64_t next_step_ = 0;
};

/// Accounts for the time of a training: its steps, and watching them (validations, pictures, checkpoints). Rates count
/// steps only; the limit covers everything since `started`.
class TrainClock {
 public:
  /// `limit` in seconds since `started` (a time of `clock`); 0: none.
  TrainClock(std::shared_ptr<AgreedClock> clock, double started, double limit)
      : clock_(std::move(clock)), started_(started), limit_(limit), first_step_at_(clock_->now()) {}

  /// The clock it reads.
  AgreedClock& clock() const { return *clock_; }
  double now() const { return clock_->now(); }
  /// Call right before the first step.
  void begin_steps() {
    first_step_at_ = now();
    watching_ = 0.0;
  }
  bool limited() const { return limit_ > 0.0; }
  double limit() const { return limit_; }
  /// Seconds since `started`.
  double elapsed() const { return now() - started_; }
  /// Seconds left until the limit; negative after it.
  double left() const { return limit_ - elapsed(); }
  /// Seconds spent on steps.
  double training() const { return now() - first_step_at_ - watching_; }
  /// Share of the limit used up, counted from the first step: 0 to 1.
  double progress() const {
    return std::clamp((now() - first_step_at_) / std::max(1e-9, started_ + limit_ - first_step_at_), 0.0, 1.0);
  }
  /// Does work that is not training, on all ranks; returns its duration.
  template <class Work>
  double watch(Work&& work) {
    clock_->agree();
    const double start = now();
    work();
    clock_->agree();
    const double seconds = now() - start;
    watching_ += seconds;
    return seconds;
  }

 private:
  std::shared_ptr<AgreedClock> clock_;
  double started_;
  double limit_;
  double first_step_at_;
  double watching_ = 0.0;
};

}  // namespace segre
