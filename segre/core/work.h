#pragma once

#include <functional>
#include <string>

#include "segre/core/deadline.h"

namespace segre {

/// Progress of long work.
struct WorkProgress {
  std::string what;    ///< "scoring"; a new value begins a new count
  int64_t done = 0;    ///< things done
  int64_t total = 0;   ///< things in total
  std::string note{};  ///< a few words on the current state
};

/// Thrown by long work when its caller stops it.
class Interrupted : public Error {
 public:
  Interrupted() : Error("stopped by the caller") {}
};

/// Callbacks of long work. Both run on the caller's thread between two parts of the work, which waits for them. An
/// exception thrown by either ends the work and reaches the caller.
struct WorkCallbacks {
  /// Called whenever there is progress; the receiver decides how often to show it.
  std::function<void(const WorkProgress&)> on_progress{};
  /// Called after every part; returning true ends the work with Interrupted.
  std::function<bool()> stop{};

  /// Calls both.
  void report(const WorkProgress& progress) const {
    if (on_progress) on_progress(progress);
    check();
  }

  /// Checks `stop` alone, within a part that takes long.
  void check() const {
    check_deadline();
    if (stop && stop()) throw Interrupted();
  }

  /// report() for one kind of work, as a function of things done and their total.
  std::function<void(int64_t done, int64_t total)> for_work(const std::string& what) const {
    return [*this, what](int64_t done, int64_t total) { report({what, done, total}); };
  }
};

}  // namespace segre
