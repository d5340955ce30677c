#include "segre/space/bins.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/json_number.h"
#include "segre/space/moment.h"

namespace segre {
namespace {

constexpr int64_t kMostDecimals = 15;    // digits that a float64 always preserves
constexpr double kMostSteps = 0x1p50;    // more values in a bin than a uniform number can distinguish
constexpr size_t kLongestNumber = 1100;  // characters of a float64 written without an exponent

const char* const kUnitNames[] = {"number", "day", "minute", "second"};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

template <class... Form>
std::string number_text(double value, Form... form) {
  std::array<char, kLongestNumber> text;
  char* const end = std::to_chars(text.data(), text.data() + text.size(), value, form...).ptr;
  const std::string written(text.data(), end);
  const bool is_zero = written.find_first_not_of("-0.") == std::string::npos;
  return is_zero && written.starts_with('-') ? written.substr(1) : written;  // no -0.0
}

// Seconds in a unit of dates; 0 for numbers.
int64_t resolution_of(Bins::Unit unit) {
  switch (unit) {
    case Bins::Unit::day:
      return kSecondsPerDay;
    case Bins::Unit::minute:
      return 60;
    case Bins::Unit::second:
      return 1;
    case Bins::Unit::number:
      break;
  }
  return 0;
}

// Spacing of adjacent values; 0 if they can be arbitrarily close.
double step_of(const Bins& bins) {
  if (bins.unit != Bins::Unit::number) return static_cast<double>(resolution_of(bins.unit));
  return bins.decimals == Bins::kAnyDecimals ? 0.0 : std::pow(10.0, -static_cast<double>(bins.decimals));
}

// A value as the data would write it; with `any_digits`, all the digits it needs.
std::string value_text(const Bins& bins, double value, bool any_digits) {
  if (bins.unit != Bins::Unit::number) return moment_text(static_cast<int64_t>(value), resolution_of(bins.unit));
  if (any_digits || bins.decimals == Bins::kAnyDecimals) return number_text(value);
  return number_text(value, std::chars_format::fixed, static_cast<int>(bins.decimals));
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  text = trimmed(text);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value + 0.0;  // no -0
}

int64_t decimals_of(double value) {
  const std::string text = number_text(value, std::chars_format::fixed);
  const size_t point = text.find('.');
  const auto digits = point == std::string::npos ? 0 : static_cast<int64_t>(text.size() - point - 1);
  return digits <= kMostDecimals ? digits : Bins::kAnyDecimals;
}

std::optional<double> Bins::parse(std::string_view text) const {
  if (unit == Unit::number) return parse_number(text);
  const auto moment = parse_moment(trimmed(text));
  return moment ? std::optional(static_cast<double>(moment->seconds)) : std::nullopt;
}

int64_t Bins::find(double value) const {
  const auto above = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
  return std::clamp<int64_t>(above - 1, 0, size() - 1);
}

std::string Bins::name(int64_t bin) const {
  return concat("[", value_text(*this, edges[bin], true), ", ", value_text(*this, edges[bin + 1], true),
                bin + 1 == size() ? "]" : ")");
}

double Bins::beyond(double value) const {
  if (covers(value)) return 0.0;
  const bool is_below = value < edges.front();
  const double width = is_below ? edges[1] - edges[0] : edges.back() - edges[edges.size() - 2];
  const double all = edges.back() - edges.front();
  constexpr double kLeast = 0.01;  // of the range of all: where many values are nearly equal, a bin may be very narrow
  const double spread = width > 0.0 ? std::max(width, kLeast * all) : all;  // the last bin may hold a single value
  return (is_below ? edges.front() - value : value - edges.back()) / spread;
}

std::string Bins::range() const {
  return concat(value_text(*this, edges.front(), true), " to ", value_text(*this, edges.back(), true));
}

std::string Bins::draw(int64_t bin, double u) const {
  const double low = edges[bin];
  const double high = edges[bin + 1];
  const bool is_last = bin + 1 == size();
  const double step = step_of(*this);
  const double count = step > 0.0 ? std::round((high - low) / step) + (is_last ? 1.0 : 0.0) : INFINITY;
  const bool is_counted = count < kMostSteps;
  double value = is_counted ? low + std::floor(u * count) * step : low * (1.0 - u) + high * u;
  if (value > high || (value >= high && !is_last)) value = low;  // due to rounding
  return value_text(*this, value, !is_counted && unit == Unit::number);
}

void Bins::check(const std::string& what) const {
  if (edges.size() < 2) fail_input(what, ": bins with ", edges.size(), " edges, at least 2 were expected");
  if (decimals < kAnyDecimals || decimals > kMostDecimals)
    fail_input(what, ": numeric bins with ", decimals, " decimals, 0 to ", kMostDecimals, " were expected");
  for (size_t k = 0; k < edges.size(); ++k) {
    const double edge = edges[k];
    const bool is_date = edge >= static_cast<double>(kFirstSecond) && edge <= static_cast<double>(kLastSecond);
    if (unit == Unit::number ? !std::isfinite(edge) : !is_date)
      fail_input(what, ": a bin edge is ", edge, ", a ",
                 unit == Unit::number ? "finite number" : "date of the years 1 to 9999", " was expected");
    if (k > 0 && (edge < edges[k - 1] || (edge == edges[k - 1] && k + 1 < edges.size())))
      fail_input(what, ": a bin edge is ", edge, " after ", edges[k - 1], ", a larger one was expected");
  }
}

nlohmann::json Bins::to_json() const {
  nlohmann::json json{{"unit", kUnitNames[static_cast<int>(unit)]}, {"edges", edges}};
  if (unit == Unit::number) json["decimals"] = decimals;
  return json;
}

Bins Bins::from_json(const nlohmann::json& json) {
  Bins bins;
  const auto unit = json.at("unit").get<std::string>();
  const auto* const known = std::find(std::begin(kUnitNames), std::end(kUnitNames), unit);
  if (known == std::end(kUnitNames))
    fail_input("unknown bin unit '", unit, "'; number, day, minute or second was expected");
  bins.unit = static_cast<Unit>(known - std::begin(kUnitNames));
  for (const auto& edge : json.at("edges")) {
    if (!edge.is_number()) fail_input("a bin edge is of type ", edge.type_name(), ", a number was expected");
    bins.edges.push_back(edge.get<double>());
  }
  if (bins.unit == Unit::number) bins.decimals = json_integer(json.at("decimals"), "the bins' number of decimals");
  return bins;
}

}  // namespace segre
