#pragma once

#include <chrono>

#include "segre/core/error.h"

namespace segre {

/// Thrown by work that is not done by its deadline.
class DeadlineExceeded : public Error {
 public:
  DeadlineExceeded() : Error("stopped at the deadline") {}
};

/// While alive, the work of the thread that makes it must be done in time, with whatever other threads do for it: long
/// work looks at the deadline before every block of rows and every step of a sampler, and ends with DeadlineExceeded.
/// Guards nest; the earliest deadline counts.
///
///   const DeadlineGuard guard(/*seconds=*/2.0);
///   const Completed done = session.complete(rows);
class DeadlineGuard {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit DeadlineGuard(double seconds);
  explicit DeadlineGuard(Time time);
  ~DeadlineGuard();
  DeadlineGuard(const DeadlineGuard&) = delete;
  DeadlineGuard& operator=(const DeadlineGuard&) = delete;

  /// The deadline of the calling thread; Time::max() without one.
  static Time current();

 private:
  Time outer_;
};

/// Throws DeadlineExceeded if the deadline of the calling thread has passed.
void check_deadline();

}  // namespace segre
