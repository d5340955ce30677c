#pragma once  // internal

#include <limits>

#include "segre/core/deadline.h"

namespace segre {

/// Seconds until the deadline of the calling thread: infinity without one, below 0 once it has passed.
inline double seconds_left() {
  const auto deadline = DeadlineGuard::current();
  if (deadline == DeadlineGuard::Time::max()) return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(deadline - DeadlineGuard::Time::clock::now()).count();
}

}  // namespace segre
