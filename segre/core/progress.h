#pragma once

#include <chrono>
#include <cstdint>
#include <string>

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

/// "90", "90s", "5m", "1h" -> seconds; InputError, starting with the user's option, otherwise.
double parse_duration(const std::string& option, const std::string& text);

/// 75.2 -> "1m15s".
std::string format_seconds(double seconds);

/// Seconds since an arbitrary point in time, for measuring durations.
double now_seconds();

}  // namespace segre
