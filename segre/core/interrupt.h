#pragma once

namespace segre {

/// While alive, SIGINT and SIGTERM ask long work to stop at the next good moment instead of ending the program; a
/// second signal ends it at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// Whether a signal has come.
  static bool requested();
};

}  // namespace segre
