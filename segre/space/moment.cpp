#include "segre/space/moment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace segre {
namespace {

constexpr size_t kDate = 10;            // characters of YYYY-MM-DD
constexpr size_t kMinutes = 16;         // and with HH:MM
constexpr size_t kSeconds = 19;         // and with :SS
constexpr int64_t kMostDigits = 6;      // of a fraction of a second, which a float64 holds with dates
constexpr int64_t kMostDays = 700'000;  // of a duration: as long as from the first to the last date

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a whole number of `least` to `most` digits from the front of the text.
std::optional<int64_t> take_number(std::string_view& text, size_t least, size_t most) {
  size_t n = 0;
  while (n < text.size() && n < most && is_digit(text[n])) ++n;
  if (n < least || (n < text.size() && n == most && is_digit(text[n]))) return std::nullopt;
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + n, value);
  text.remove_prefix(n);
  return value;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Takes HH:MM, HH:MM:SS or HH:MM:SS.fff: a time of day.
bool take_time(std::string_view& text, Moment& moment) {
  const auto hour = take_number(text, 1, 2);
  if (!hour || *hour > 23 || !take(text, ":")) return false;
  const auto minute = take_number(text, 2, 2);
  if (!minute || *minute > 59) return false;
  moment.seconds += 3600 * *hour + 60 * *minute;
  moment.resolution = 60;
  if (!take(text, ":")) return true;
  const auto second = take_number(text, 2, 2);
  if (!second || *second > 59) return false;
  moment.seconds += *second;
  moment.resolution = 1;
  if (!take(text, ".")) return true;
  double unit = 0.1;
  for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1), unit /= 10.0, ++moment.digits)
    moment.fraction += unit * (text[0] - '0');
  moment.digits = std::min(moment.digits, kMostDigits);
  return unit < 0.1;
}

// "1 days", "1 days 02:03:04", "-1 days +23:59:59".
std::optional<Moment> parse_duration(std::string_view text) {
  const bool is_negative = take(text, "-");
  const auto days = take_number(text, 1, 6);
  if (!days || *days > kMostDays || !(take(text, " days") || take(text, " day"))) return std::nullopt;
  Moment moment{(is_negative ? -1 : 1) * *days * kSecondsPerDay, kSecondsPerDay};
  if (text.empty()) return moment;
  if (!take(text, is_negative ? " +" : " ") || !take_time(text, moment) || !text.empty()) return std::nullopt;
  return moment;
}

// Takes the date of a pattern, up to its time, from both.
std::optional<std::chrono::year_month_day> take_date(std::string_view& text, std::string_view& pattern) {
  std::array<int64_t, 3> found{};  // year, month, day
  while (!pattern.empty() && pattern[0] != ' ' && pattern[0] != 'T') {
    if (pattern[0] != '%') {
      if (!take(text, pattern.substr(0, 1))) return std::nullopt;
      pattern.remove_prefix(1);
      continue;
    }
    pattern.remove_prefix(pattern.starts_with("%-") ? 2 : 1);
    const bool is_year = pattern[0] == 'Y';
    const auto number = take_number(text, is_year ? 4 : 1, is_year ? 4 : 2);
    if (!number) return std::nullopt;
    found[is_year ? 0 : pattern[0] == 'm' ? 1 : 2] = *number;
    pattern.remove_prefix(1);
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(found[0])),
                                         std::chrono::month(static_cast<unsigned>(found[1])),
                                         std::chrono::day(static_cast<unsigned>(found[2]))};
  return date.ok() && date.year() >= std::chrono::year(1) ? std::optional(date) : std::nullopt;
}

std::string padded(int64_t number, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%0*lld", digits, static_cast<long long>(number));
  return text.data();
}

// A time of day down to the resolution, with so many digits after the seconds.
std::string time_text(double of_day, int64_t resolution, int64_t digits) {
  const auto unit = static_cast<int64_t>(std::pow(10.0, static_cast<double>(digits)));
  const double parts = of_day * static_cast<double>(unit);
  const auto all = std::min(kSecondsPerDay * unit - 1, static_cast<int64_t>(digits == 0 ? parts : std::round(parts)));
  const int64_t whole = all / unit;
  std::string text = padded(whole / 3600, 2) + ":" + padded(whole / 60 % 60, 2);
  if (resolution >= 60) return text;
  text += ":" + padded(whole % 60, 2);
  return digits == 0 ? text : text + "." + padded(all % unit, static_cast<int>(digits));
}

std::string date_text(const std::chrono::year_month_day& date, std::string_view pattern) {
  std::string text;
  for (size_t k = 0; k < pattern.size(); ++k) {
    if (pattern[k] != '%') {
      text += pattern[k];
      continue;
    }
    const bool is_short = pattern[++k] == '-';
    if (is_short) ++k;
    const int64_t number = pattern[k] == 'Y'   ? static_cast<int>(date.year())
                           : pattern[k] == 'm' ? static_cast<unsigned>(date.month())
                                               : static_cast<unsigned>(date.day());
    text += padded(number, pattern[k] == 'Y' ? 4 : is_short ? 1 : 2);
  }
  return text;
}

}  // namespace

std::optional<int64_t> offset_of(std::string_view zone) {
  if (zone == "Z") return 0;
  if (zone.empty() || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  const int64_t sign = zone[0] == '-' ? -1 : 1;
  std::string digits(zone.substr(1));  // HH, HHMM or HH:MM
  if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
  if ((digits.size() != 2 && digits.size() != 4) || !std::all_of(digits.begin(), digits.end(), is_digit))
    return std::nullopt;
  const int64_t number = std::stoll(digits.size() == 2 ? digits + "00" : digits);
  if (number / 100 > 23 || number % 100 > 59) return std::nullopt;
  return sign * (number / 100 * 3600 + number % 100 * 60);
}

size_t find_zone(std::string_view text) {
  const size_t time = std::min(text.find("%T"), text.find(':'));
  return time == std::string_view::npos ? text.size() : std::min(text.find_first_of("+-Z", time), text.size());
}

bool is_moment_pattern(std::string_view pattern) {
  if (pattern == moment_pattern::kTime || pattern == moment_pattern::kDuration) return true;
  const std::string_view zone = pattern.substr(find_zone(pattern));
  if (!zone.empty() && !offset_of(zone)) return false;
  pattern.remove_suffix(zone.size());
  if (!zone.empty() && !pattern.ends_with("%T")) return false;
  if (pattern.ends_with(" %T") || pattern.ends_with("T%T")) pattern.remove_suffix(3);
  std::string parts;
  while (take(pattern, "%-") || take(pattern, "%")) {
    if (pattern.empty()) return false;
    parts += pattern[0];
    pattern.remove_prefix(1);
    if (!take(pattern, "-") && !take(pattern, ".") && !take(pattern, "/")) break;
    if (pattern.empty()) return false;
  }
  std::sort(parts.begin(), parts.end());
  return pattern.empty() && parts == "Ydm";
}

std::optional<Moment> parse_moment(std::string_view text) {
  if (text.size() != kDate && text.size() != kMinutes && text.size() != kSeconds) return std::nullopt;
  if (text[4] != '-' || text[7] != '-') return std::nullopt;
  auto moment = parse_moment(text, moment_pattern::kIso);
  const bool is_plain = moment && moment->zone.empty() && moment->digits == 0;  // every part has two digits, then
  return is_plain ? moment : std::nullopt;
}

std::optional<Moment> parse_moment(std::string_view text, std::string_view pattern) {
  if (pattern.starts_with("%D")) return parse_duration(text);
  Moment moment;
  if (pattern.starts_with("%T")) {
    if (text.find(':') != 2) return std::nullopt;  // 1:30 may be anything
  } else {
    const auto date = take_date(text, pattern);
    if (!date) return std::nullopt;
    moment = {kSecondsPerDay * std::chrono::sys_days(*date).time_since_epoch().count(), kSecondsPerDay};
    if (text.empty()) return moment;
    if (!take(text, " ") && !take(text, "T")) return std::nullopt;
  }
  if (!take_time(text, moment)) return std::nullopt;
  if (text.empty()) return moment;
  const auto offset = offset_of(text);
  if (!offset) return std::nullopt;
  moment.seconds -= *offset;
  moment.zone = text;
  return moment;
}

std::string moment_text(double seconds, int64_t resolution, int64_t digits, std::string_view pattern) {
  const size_t zone = find_zone(pattern);
  seconds += static_cast<double>(offset_of(pattern.substr(zone)).value_or(0));
  const auto day = static_cast<int64_t>(std::floor(seconds / kSecondsPerDay));
  const std::string time = time_text(seconds - static_cast<double>(day * kSecondsPerDay), resolution, digits);
  if (pattern.starts_with("%D"))
    return std::to_string(day) + " days" + (resolution < kSecondsPerDay ? (day < 0 ? " +" : " ") + time : "");
  const size_t at = pattern.find("%T");
  if (at == 0) return time + std::string(pattern.substr(zone));
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  const std::string text = date_text(date, pattern.substr(0, at == std::string_view::npos ? at : at - 1));
  if (resolution >= kSecondsPerDay || at == std::string_view::npos) return text;
  return text + pattern[at - 1] + time + std::string(pattern.substr(zone));
}

}  // namespace segre
