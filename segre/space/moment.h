#pragma once  // internal

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace segre {

/// A date, or a date with a time of day, in the years 1 to 9999; a time of day alone, or a duration.
struct Moment {
  int64_t seconds = 0;     ///< since 1970-01-01 00:00:00, of UTC if there is an offset; times and durations: since 0
  int64_t resolution = 1;  ///< its precision: kSecondsPerDay (a date alone), 60 (minutes) or 1
  double fraction = 0.0;   ///< of a second, besides: [0, 1)
  int64_t digits = 0;      ///< of that fraction, as written
  std::string zone{};      ///< how the offset from UTC is written: "+01:00", "Z"; empty: there is none
};

inline constexpr int64_t kSecondsPerDay = 86'400;

/// The first and the last second of those years: the smallest and the largest Moment::seconds.
inline constexpr int64_t kFirstSecond = -62'135'596'800;
inline constexpr int64_t kLastSecond = 253'402'300'799;

/// How the moments of a column are written. A pattern has, in this order and each but the first optional:
///
///   a date      %Y, %m and %d with what is between them: "%d.%m.%Y"; with a minus sign, as in "%-d.%-m.%Y", days and
///               months below ten have one digit. Or nothing, for times of day, or "%D days", for durations as pandas
///               writes them
///   the time    " %T" or "T%T", after a date; %T is as precise as the column
///   the offset  from UTC: "+01:00", "Z"
namespace moment_pattern {
inline constexpr const char* kIso = "%Y-%m-%d %T";
inline constexpr const char* kTime = "%T";
inline constexpr const char* kDuration = "%D days %T";
}  // namespace moment_pattern

/// Parses YYYY-MM-DD, YYYY-MM-DD HH:MM or YYYY-MM-DD HH:MM:SS (a T may replace the space); nothing if the text is none
/// of these or not a day of the calendar.
std::optional<Moment> parse_moment(std::string_view text);

/// Parses a moment of this pattern, with any offset if the text has one. Days and months may have one digit or two, a T
/// may replace the space, the time may be left out after a date, and be as precise as it likes.
std::optional<Moment> parse_moment(std::string_view text, std::string_view pattern);

/// Whether a text is such a pattern.
bool is_moment_pattern(std::string_view text);

/// Formats a moment as parse_moment reads it, down to `resolution` and with so many digits after the seconds.
std::string moment_text(double seconds, int64_t resolution, int64_t digits = 0,
                        std::string_view pattern = moment_pattern::kIso);

/// The offset from UTC that a pattern ends with, or all of a text: "+01:00" is 3600 seconds. Nothing if it has none.
std::optional<int64_t> offset_of(std::string_view zone);

/// Where the offset of a pattern or of a moment begins; its length if it has none.
size_t find_zone(std::string_view text);

}  // namespace segre
