#pragma once  // internal

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "segre/core/work.h"

namespace segre {

/// Reports the progress of long work on log_stream(), with the time left: a bar that redraws itself if log_redraws(),
/// else a plain line every ten seconds.
class Progress {
 public:
  /// `what` names the work; `done` of `total` things are already finished (a resumed run).
  Progress(std::string what, int64_t total, int64_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` is shown next to the bar: "loss 1.234".
  void update(int64_t done, const std::string& note = {});
  /// Changes the total, if it only becomes known along the way.
  void set_total(int64_t total) { total_ = total; }

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string& note);

  std::string what_;
  int64_t total_;
  int64_t first_;
  int64_t done_;
  bool redraws_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_;
};

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
