#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace segre {

/// Tells on talk() how far long work is: a bar that redraws itself on a terminal, a plain line every ten seconds
/// elsewhere, with the time left.
class Progress {
 public:
  /// `what` is being done to `total` things, of which `done` were done before (a resumed run).
  Progress(std::string what, int64_t total, int64_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` is shown beside the bar: "loss 1.234".
  void update(int64_t done, const std::string& note = {});
  /// Changes the total, where it is found out on the way.
  void set_total(int64_t total) { total_ = total; }

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string& note);

  std::string what_;
  int64_t total_;
  int64_t first_;
  int64_t done_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_;
};

/// 75.2 -> "1m15s".
std::string format_seconds(double seconds);

/// Seconds since an arbitrary moment, for measuring.
double now_seconds();

}  // namespace segre
