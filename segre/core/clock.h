#pragma once

#include <string>

namespace segre {

/// "90", "90s", "5m", "1h" -> seconds; InputError, starting with the user's option, otherwise.
double parse_duration(const std::string& option, const std::string& text);

/// 75.2 -> "1m15s".
std::string format_seconds(double seconds);

/// Seconds since an arbitrary point in time, for measuring durations.
double now_seconds();

}  // namespace segre
