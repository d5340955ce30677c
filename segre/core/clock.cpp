#include "segre/core/clock.h"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "segre/core/error.h"

namespace segre {

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
