#pragma once  // internal

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace segre {

/// A date, or a date with a time of day, in the years 1 to 9999.
struct Moment {
  int64_t seconds = 0;     ///< since 1970-01-01 00:00:00
  int64_t resolution = 1;  ///< its precision: kSecondsPerDay (a date alone), 60 (minutes) or 1
};

inline constexpr int64_t kSecondsPerDay = 86'400;

/// The first and the last second of those years: the smallest and the largest Moment::seconds.
inline constexpr int64_t kFirstSecond = -62'135'596'800;
inline constexpr int64_t kLastSecond = 253'402'300'799;

/// Parses YYYY-MM-DD, YYYY-MM-DD HH:MM or YYYY-MM-DD HH:MM:SS (a T may replace the space); nothing if the text is none
/// of these or not a day of the calendar.
std::optional<Moment> parse_moment(std::string_view text);

/// Formats a moment as parse_moment reads it, down to `resolution`.
std::string moment_text(int64_t seconds, int64_t resolution);

}  // namespace segre
