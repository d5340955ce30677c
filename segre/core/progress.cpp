#include "segre/core/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "segre/core/log.h"

namespace segre {
namespace {

constexpr auto kBarPause = std::chrono::milliseconds(100);
constexpr auto kLinePause = std::chrono::seconds(10);

}  // namespace

Progress::Progress(std::string what, int64_t total, int64_t done)
    : what_(std::move(what)), total_(total), first_(done), done_(done), redraws_(log_redraws()), last_drawn_(start_) {}

Progress::~Progress() {
  if (redraws_) log_stream() << "\r\033[K" << std::flush;
}

void Progress::update(int64_t done, const std::string& note) {
  done_ = done;
  const auto pause = redraws_ ? Clock::duration(kBarPause) : Clock::duration(kLinePause);
  if (Clock::now() - last_drawn_ < pause) return;
  last_drawn_ = Clock::now();
  draw(note);
}

void Progress::draw(const std::string& note) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = static_cast<double>(done_ - first_) / std::max(elapsed, 1e-9);
  const double left = rate > 0.0 ? static_cast<double>(total_ - done_) / rate : 0.0;
  const double part =
      std::clamp(static_cast<double>(done_) / static_cast<double>(std::max<int64_t>(1, total_)), 0.0, 1.0);
  if (!redraws_) {
    log_stream() << what_ << ' ' << done_ << '/' << total_ << "  " << note << (note.empty() ? "" : "  ")
                 << format_seconds(left) << " left\n";
    return;
  }
  constexpr int kWidth = 28;
  const int filled = static_cast<int>(part * kWidth);
  log_stream() << '\r' << what_ << " [" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] "
               << static_cast<int>(100.0 * part) << "%  " << note << (note.empty() ? "" : "  ") << format_seconds(left)
               << " left\033[K" << std::flush;
}

double parse_duration(const std::string& option, const std::string& text) {
  size_t used = 0;
  double value = -1.0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double factor = unit.empty() || unit == "s" ? 1.0 : unit == "m" ? 60.0 : unit == "h" ? 3600.0 : 0.0;
  constexpr double kLongest = 1e9;  // thirty years
  if (used == 0 || factor == 0.0 || !(value > 0.0) || !(value * factor <= kLongest))
    fail_input(option, " ", text, ": expected a time such as 60s, 5m or 1h");
  return value * factor;
}

std::string format_seconds(double seconds) {
  char text[32];
  if (seconds < 60.0) {
    std::snprintf(text, sizeof text, "%.1fs", seconds);
  } else if (seconds < 3600.0) {
    const auto whole = std::lround(seconds);
    std::snprintf(text, sizeof text, "%ldm%02lds", whole / 60, whole % 60);
  } else {
    const auto minutes = std::lround(seconds / 60.0);
    std::snprintf(text, sizeof text, "%ldh%02ldm", minutes / 60, minutes % 60);
  }
  return text;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace segre
