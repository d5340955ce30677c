#pragma once

#include <memory>
#include <utility>

#include "segre/core/work.h"

namespace segre {

/// Shows the progress of long work on log_stream() while alive: a bar where lines can be redrawn, occasional lines
/// elsewhere.
class WorkDisplay {
 public:
  WorkDisplay();
  ~WorkDisplay();
  WorkDisplay(const WorkDisplay&) = delete;
  WorkDisplay& operator=(const WorkDisplay&) = delete;

  /// Update the display; valid while this object lives.
  WorkCallbacks callbacks();

 private:
  struct Shown;
  std::unique_ptr<Shown> shown_;
};

/// Returns the result of `work` and shows its progress until it is done.
template <class Work>
auto with_progress(Work&& work) {
  WorkDisplay display;
  return std::forward<Work>(work)(display.callbacks());
}

}  // namespace segre
