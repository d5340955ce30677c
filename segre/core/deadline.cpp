#include "segre/core/deadline.h"

#include <algorithm>

namespace segre {
namespace {

using Clock = DeadlineGuard::Time::clock;

constexpr auto kNever = DeadlineGuard::Time::max();
thread_local DeadlineGuard::Time deadline = kNever;

}  // namespace

DeadlineGuard::DeadlineGuard(double seconds)
    : DeadlineGuard([seconds] {
        constexpr double kMost = 2e9;  // more would not fit into nanoseconds
        const std::chrono::duration<double> wait(std::min(seconds, kMost));
        return Clock::now() + std::chrono::duration_cast<Time::duration>(wait);
      }()) {}

DeadlineGuard::DeadlineGuard(Time time) : outer_(deadline) { deadline = std::min(deadline, time); }

DeadlineGuard::~DeadlineGuard() { deadline = outer_; }

DeadlineGuard::Time DeadlineGuard::current() { return deadline; }

void check_deadline() {
  if (deadline != kNever && Clock::now() > deadline) throw DeadlineExceeded();
}

}  // namespace segre
