#include "segre/space/bins.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "segre/core/error.h"
#include "segre/core/json_number.h"
#include "segre/core/utf8.h"
#include "segre/space/moment.h"

namespace segre {
namespace {

constexpr int64_t kMostDecimals = 15;    // digits that a float64 always preserves
constexpr int64_t kMostFraction = 6;     // digits of a fraction of a second that it preserves beside a date
constexpr int64_t kMostShared = 4096;    // levels that share a label, as a checkpoint may have them
constexpr double kLongNumber = 1e16;     // from there on, numbers are written with an exponent
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
  if (bins.decimals == Bins::kAnyDecimals) return 0.0;
  const double unit = bins.unit == Bins::Unit::number ? 1.0 : static_cast<double>(resolution_of(bins.unit));
  return static_cast<double>(bins.stride) * unit * std::pow(10.0, -static_cast<double>(bins.decimals));
}

// An interval, without the values that have labels of their own.
struct Interval {
  double low, high;
  bool has_high;
  std::span<const double> without;
  // How many values it holds on a grid of this step.
  double count(double step) const {
    return std::round((high - low) / step) + (has_high ? 1.0 : 0.0) - static_cast<double>(without.size());
  }
};

Interval interval(const Bins& bins, int64_t k) {
  const bool is_last = k + 1 == bins.n_intervals();
  Interval found{bins.edges[k], bins.edges[k + 1], is_last, {}};
  const auto first = std::lower_bound(bins.own.begin(), bins.own.end(), found.low);
  auto last = std::lower_bound(first, bins.own.end(), found.high);
  if (is_last && last != bins.own.end() && *last == found.high) ++last;
  found.without = {first, last};
  return found;
}

// The nearest of ascending values.
int64_t nearest_of(std::span<const double> values, double value) {
  const auto above = std::lower_bound(values.begin(), values.end(), value);
  if (above == values.begin()) return 0;
  if (above == values.end()) return static_cast<int64_t>(values.size()) - 1;
  const int64_t k = above - values.begin();
  return value - values[k - 1] < values[k] - value ? k - 1 : k;
}

// A value as the data would write it; with `any_digits`, all the digits it needs.
std::string value_text(const Bins& bins, double value, bool any_digits) {
  if (bins.unit != Bins::Unit::number)
    return moment_text(value, resolution_of(bins.unit), bins.decimals,
                       bins.pattern.empty() ? moment_pattern::kIso : std::string_view(bins.pattern));
  if (any_digits || bins.decimals == Bins::kAnyDecimals || std::abs(value) >= kLongNumber) return number_text(value);
  if (!bins.least_digits) return number_text(value, std::chars_format::fixed, static_cast<int>(bins.decimals));
  int64_t digits = std::max(bins.decimals, *bins.least_digits);
  std::string text = number_text(value, std::chars_format::fixed, static_cast<int>(digits));
  for (; digits > *bins.least_digits && text.back() == '0'; --digits) text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
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
  text = trimmed(text);
  auto moment = pattern.empty() ? std::nullopt : parse_moment(text, pattern);
  if (!moment && (pattern.empty() || pattern.find("%Y") != std::string::npos))
    moment = parse_moment(text, moment_pattern::kIso);
  if (!moment || (!moment->zone.empty() && !has_zone())) return std::nullopt;
  // Without an offset, it is the column's.
  const auto offset = moment->zone.empty() ? offset_of(std::string_view(pattern).substr(find_zone(pattern))) : 0;
  return static_cast<double>(moment->seconds - offset.value_or(0)) + moment->fraction;
}

const char* Bins::called() const {
  return unit == Unit::number               ? "number"
         : pattern.starts_with("%D")        ? "duration"
         : pattern == moment_pattern::kTime ? "time of day"
                                            : "date";
}

bool Bins::has_zone() const { return find_zone(pattern) < pattern.size(); }

Bins::Place Bins::place(double value) const {
  const bool has_own = std::binary_search(own.begin(), own.end(), value);
  if (has_own || edges.empty()) return {n_shared() + nearest_of(own, value), 0};
  if (are_points) return place_of(nearest_of(std::span(edges).first(n_intervals()), value));
  const auto above = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
  return place_of(std::clamp<int64_t>(above - 1, 0, n_intervals() - 1));
}

int64_t Bins::number_of(Place place) const {
  if (place.label >= n_shared()) return n_intervals() + place.label - n_shared();
  return std::min(place.label * fine + place.within, n_intervals() - 1);
}

Bins::Place Bins::place_of(int64_t number) const {
  if (number >= n_intervals()) return {n_shared() + number - n_intervals(), 0};
  return {number / fine, number % fine};
}

std::string Bins::name(int64_t label) const {
  if (label >= n_shared()) return text_of(own[label - n_shared()]);
  const int64_t first = label * fine;
  const int64_t end = std::min(first + fine, n_intervals());
  return concat("[", value_text(*this, edges[first], true), ", ", value_text(*this, edges[end], true),
                end == n_intervals() ? "]" : ")");
}

std::string Bins::text_of(double value) const { return value_text(*this, value, false); }

double Bins::least() const {
  return own.empty() ? edges.front() : edges.empty() ? own.front() : std::min(edges.front(), own.front());
}

double Bins::largest() const {
  return own.empty() ? edges.back() : edges.empty() ? own.back() : std::max(edges.back(), own.back());
}

std::string Bins::distance(double value) const {
  const bool is_below = value < least();
  const double by = is_below ? least() - value : value - largest();
  const char* const side = is_below ? " below" : " above";
  if (unit == Unit::number) return concat(by, side);
  const double in_units = by / static_cast<double>(resolution_of(unit));
  return concat(number_text(std::ceil(in_units)), " ", kUnitNames[static_cast<int>(unit)],
                std::ceil(in_units) == 1.0 ? "" : "s", side);
}

double Bins::beyond(double value) const {
  if (covers(value)) return 0.0;
  const bool is_below = value < least();
  const std::vector<double>& ends = edges.empty() ? own : edges;
  const size_t n = ends.size();
  const double width = n < 2 ? 0.0 : is_below ? ends[1] - ends[0] : ends[n - 1] - ends[n - 2];
  const double all = largest() - least();
  constexpr double kLeast = 0.01;  // of the range of all: where many values are nearly equal, a bin may be very narrow
  const double spread = width > 0.0 ? std::max(width, kLeast * all) : all;  // the last bin may hold a single value
  return (is_below ? least() - value : value - largest()) / spread;
}

std::string Bins::range() const {
  return concat(value_text(*this, least(), true), " to ", value_text(*this, largest(), true));
}

std::string Bins::draw(Place place, double u) const {
  if (place.label >= n_shared()) return text_of(own[place.label - n_shared()]);
  const auto [low, high, has_high, without] = interval(*this, number_of(place));
  if (are_points) return text_of(low);
  const double step = step_of(*this);
  const double count = step > 0.0 ? Interval{low, high, has_high, without}.count(step) : INFINITY;
  const bool is_counted = count < kMostSteps;
  double value = is_counted ? low + std::floor(u * count) * step : low * (1.0 - u) + high * u;
  for (const double other : without)
    if (is_counted && value > other - 0.5 * step) value += step;
  // Rounding must not leave the interval, nor lose its upper end.
  const double slack = is_counted ? (has_high ? 0.5 : -0.5) * step : 0.0;
  if (value > high + slack || (value >= high && !has_high)) value = low;
  return value_text(*this, value, !is_counted && unit == Unit::number);
}

double Bins::log_density(Place place) const {
  if (place.label >= n_shared() || are_points) return 0.0;
  const Interval found = interval(*this, number_of(place));
  const double step = step_of(*this);
  const double width = step > 0.0 ? found.count(step) * step : found.high - found.low;
  const double in_units = unit == Unit::number ? width : width / static_cast<double>(resolution_of(unit));
  return -std::log(in_units);
}

namespace {

// The distribution that probabilities of labels mean, as pieces in ascending order: intervals and single values.
struct Piece {
  double low, high, p;
};

std::vector<Piece> pieces_of(const Bins& bins, const double* p) {
  std::vector<Piece> pieces;
  const int64_t n = bins.n_intervals();
  for (int64_t k = 0; k < n; ++k) {
    const int64_t label = k / bins.fine;
    const double share = p[label] / static_cast<double>(std::min((label + 1) * bins.fine, n) - label * bins.fine);
    const auto [low, high, has_high, without] = interval(bins, k);
    if (bins.are_points || high == low) {
      pieces.push_back({low, low, share});
      continue;
    }
    double from = low;
    const auto add_up_to = [&](double to) {
      pieces.push_back({from, to, share * (to - from) / (high - low)});
      from = to;
    };
    for (const double cut : without) add_up_to(cut);
    add_up_to(high);
  }
  for (size_t k = 0; k < bins.own.size(); ++k) pieces.push_back({bins.own[k], bins.own[k], p[bins.n_shared() + k]});
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return std::pair(a.low, a.high) < std::pair(b.low, b.high); });
  return pieces;
}

}  // namespace

double Bins::quantile(const double* p, double q) const {
  double below = 0.0;
  double last = least();
  for (const Piece& piece : pieces_of(*this, p)) {
    if (piece.p > 0.0) last = piece.high;
    if (piece.p > 0.0 && below + piece.p >= q)
      return piece.low + (piece.high - piece.low) * std::clamp((q - below) / piece.p, 0.0, 1.0);
    below += piece.p;
  }
  return last;
}

double Bins::mean(const double* p) const {
  double sum = 0.0;
  for (const Piece& piece : pieces_of(*this, p)) sum += piece.p * 0.5 * (piece.low + piece.high);
  return sum;
}

namespace {

void check_levels(const Bins& bins, const std::string& what) {
  if (bins.fine < 1 || bins.fine > kMostShared)
    fail_input(what, ": ", bins.fine, " levels per label, 1 to ", kMostShared, " were expected");
  if (bins.least_digits && (*bins.least_digits < 0 || *bins.least_digits > kMostDecimals))
    fail_input(what, ": at least ", *bins.least_digits, " digits after the point, 0 to ", kMostDecimals,
               " were expected");
  if (bins.stride < 1) fail_input(what, ": values in steps of ", bins.stride, " units, at least 1 was expected");
  for (size_t k = 1; k < bins.own.size(); ++k)
    if (bins.own[k] <= bins.own[k - 1])
      fail_input(what, ": a recurring value is ", bins.own[k], " after ", bins.own[k - 1],
                 ", a larger one was expected");
}

// How values are written.
void check_text(const Bins& bins, const std::string& what) {
  const bool is_number = bins.unit == Bins::Unit::number;
  if (is_number && (bins.decimals < Bins::kAnyDecimals || bins.decimals > kMostDecimals))
    fail_input(what, ": numeric bins with ", bins.decimals, " decimals, 0 to ", kMostDecimals, " were expected");
  const int64_t most = bins.unit == Bins::Unit::second ? kMostFraction : 0;
  if (!is_number && (bins.decimals < 0 || bins.decimals > most))
    fail_input(what, ": dates with ", bins.decimals, " digits after the point, 0 to ", most, " were expected");
  if (!bins.pattern.empty() && (is_number || !is_moment_pattern(bins.pattern)))
    fail_input(what, ": values are written as '", printable(bins.pattern), "', a pattern of dates was expected");
}

void check_value(const Bins& bins, const std::string& called, double value) {
  const bool is_date = value >= static_cast<double>(kFirstSecond) && value <= static_cast<double>(kLastSecond);
  if (bins.unit == Bins::Unit::number ? !std::isfinite(value) : !is_date)
    fail_input(called, " is ", value, ", a ",
               bins.unit == Bins::Unit::number ? "finite number" : "date of the years 1 to 9999", " was expected");
}

}  // namespace

void Bins::check(const std::string& what) const {
  check_text(*this, what);
  for (const double value : own) check_value(*this, what + ": a recurring value", value);
  if (are_levels) check_levels(*this, what);
  if (are_levels && edges.empty() && !own.empty()) return;
  if (edges.size() < 2) fail_input(what, ": bins with ", edges.size(), " edges, at least 2 were expected");
  for (size_t k = 0; k < edges.size(); ++k) {
    check_value(*this, what + ": a bin edge", edges[k]);
    if (k > 0 && (edges[k] < edges[k - 1] || (edges[k] == edges[k - 1] && k + 1 < edges.size())))
      fail_input(what, ": a bin edge is ", edges[k], " after ", edges[k - 1], ", a larger one was expected");
  }
}

nlohmann::json Bins::to_json() const {
  nlohmann::json json{{"unit", kUnitNames[static_cast<int>(unit)]}, {"edges", edges}};
  if (unit == Unit::number || decimals > 0) json["decimals"] = decimals;
  if (!pattern.empty()) json["pattern"] = pattern;
  if (are_levels) json["levels"] = {{"per_label", fine}, {"own", own}, {"are_points", are_points}, {"stride", stride}};
  if (least_digits) json["levels"]["least_digits"] = *least_digits;
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
  if (bins.unit == Unit::number || json.contains("decimals"))
    bins.decimals = json_integer(json.at("decimals"), "the bins' number of decimals");
  if (json.contains("pattern")) bins.pattern = json.at("pattern").get<std::string>();
  if (json.contains("levels")) {
    const auto& levels = json.at("levels");
    bins.are_levels = true;
    bins.fine = json_integer(levels.at("per_label"), "the number of levels per label");
    bins.own = levels.at("own").get<std::vector<double>>();
    bins.are_points = levels.at("are_points").get<bool>();
    bins.stride = json_integer(levels.at("stride"), "the levels' stride");
    if (levels.contains("least_digits"))
      bins.least_digits = json_integer(levels.at("least_digits"), "the levels' least number of digits");
  }
  return bins;
}

}  // namespace segre
