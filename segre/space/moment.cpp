#include "segre/space/moment.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace segre {
namespace {

constexpr size_t kDate = 10;     // characters of YYYY-MM-DD
constexpr size_t kMinutes = 16;  // and with HH:MM
constexpr size_t kSeconds = 19;  // and with :SS

// Whether the text has digits where the pattern has 0, and the pattern's characters elsewhere.
bool has_form(std::string_view text, std::string_view pattern) {
  for (size_t k = 0; k < pattern.size(); ++k) {
    const char c = text[k];
    if (pattern[k] == '0' ? c < '0' || c > '9' : c != pattern[k] && !(pattern[k] == ' ' && c == 'T')) return false;
  }
  return true;
}

int number_at(std::string_view text, size_t at, size_t digits) {
  int value = 0;
  for (const char c : text.substr(at, digits)) value = 10 * value + (c - '0');
  return value;
}

}  // namespace

std::optional<Moment> parse_moment(std::string_view text) {
  constexpr std::string_view kPattern = "0000-00-00 00:00:00";
  if (text.size() != kDate && text.size() != kMinutes && text.size() != kSeconds) return std::nullopt;
  if (!has_form(text, kPattern.substr(0, text.size()))) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(number_at(text, 0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number_at(text, 5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number_at(text, 8, 2)))};
  if (!date.ok() || date.year() < std::chrono::year(1)) return std::nullopt;
  Moment moment{kSecondsPerDay * std::chrono::sys_days(date).time_since_epoch().count(), kSecondsPerDay};
  if (text.size() == kDate) return moment;
  const int hour = number_at(text, 11, 2);
  const int minute = number_at(text, 14, 2);
  const int second = text.size() == kSeconds ? number_at(text, 17, 2) : 0;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  moment.seconds += 3600 * hour + 60 * minute + second;
  moment.resolution = text.size() == kSeconds ? 1 : 60;
  return moment;
}

std::string moment_text(int64_t seconds, int64_t resolution) {
  const int64_t day = (seconds >= 0 ? seconds : seconds - kSecondsPerDay + 1) / kSecondsPerDay;  // rounded down
  const auto of_day = static_cast<int>(seconds - day * kSecondsPerDay);
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  std::array<char, 64> text{};
  const int written = std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d",
                                    static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                    static_cast<unsigned>(date.day()), of_day / 3600, of_day / 60 % 60, of_day % 60);
  const size_t length = resolution >= kSecondsPerDay ? kDate : resolution >= 60 ? kMinutes : kSeconds;
  return std::string(text.data(), static_cast<size_t>(written)).substr(0, length);
}

}  // namespace segre
