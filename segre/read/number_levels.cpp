#include "segre/read/number_levels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "segre/core/error.h"
#include "segre/core/text.h"

namespace segre {
namespace {

// Up to so many different values are labels, if each has a few rows.
constexpr size_t kFewLabels = 20;
constexpr size_t kMostLabels = 100;
constexpr int64_t kRowsPerLabel = 4;
// The most levels, and how many rows each should have at least.
constexpr int64_t kMostLevels = 1024;
constexpr int64_t kRowsPerLevel = 16;
// The most values with labels of their own beside levels.
constexpr size_t kMostOwn = 96;
// Where a value has so many rows on average, the data recur to the same few values.
constexpr int64_t kRowsPerPoint = 3;
// Digits after the point that are written even if they are zeros.
constexpr int64_t kMostDigits = 15;
// Up to so many levels are labels of one variable.
constexpr int64_t kOneVariable = 40;

int64_t count_of(const std::vector<CountedValue>& values) {
  int64_t n = 0;
  for (const CountedValue& v : values) n += v.count;
  return n;
}

int64_t levels_for(int64_t n_rows) { return std::clamp<int64_t>(n_rows / kRowsPerLevel, 4, kMostLevels); }

// Moves the values that are as frequent as a whole level, the most frequent ones first, to `own`.
std::vector<double> take_recurring(std::vector<CountedValue>& values) {
  const int64_t n = count_of(values);
  const int64_t often = std::max<int64_t>(kRowsPerLevel, n / levels_for(n));
  std::vector<int64_t> counts;
  for (const CountedValue& v : values)
    if (v.count >= often) counts.push_back(v.count);
  std::sort(counts.rbegin(), counts.rend());
  const int64_t least = counts.size() > kMostOwn ? counts[kMostOwn - 1] + 1 : often;
  std::vector<double> own;
  std::vector<CountedValue> others;
  for (const CountedValue& v : values) {
    if (v.count >= least) {
      own.push_back(v.value);
    } else {
      others.push_back(v);
    }
  }
  values = std::move(others);
  return own;
}

// Edges of intervals with about as many rows each, the largest value last.
std::vector<double> equally_full(const std::vector<CountedValue>& values) {
  const int64_t n = count_of(values);
  const int64_t most = levels_for(n);
  std::vector<double> edges;
  int64_t before = 0;
  int64_t next = 0;  // of `most` equal shares of the rows, the first that has not begun
  for (const CountedValue& v : values) {
    const int64_t end = before + v.count;
    if (next < most && next * n / most < end) edges.push_back(v.value);
    while (next < most && next * n / most < end) ++next;
    before = end;
  }
  // The last interval ends at the largest value and has more than that one.
  if (edges.size() > 1 && edges.back() == values.back().value) edges.pop_back();
  edges.push_back(values.back().value);
  return edges;
}

// The largest number of units of the last digit, or of seconds, minutes or days, that divides all values; of dates,
// what lies between them.
int64_t stride_of(const Bins& bins, const std::vector<CountedValue>& values) {
  if (bins.decimals == Bins::kAnyDecimals) return 1;
  const bool is_number = bins.unit == Bins::Unit::number;
  const double zero = is_number ? 0.0 : values.front().value;
  const double seconds = bins.unit == Bins::Unit::day ? 86'400.0 : bins.unit == Bins::Unit::minute ? 60.0 : 1.0;
  const double unit = std::pow(10.0, static_cast<double>(bins.decimals)) / (is_number ? 1.0 : seconds);
  int64_t stride = 0;
  for (const CountedValue& v : values) {
    const double units = std::round(std::abs(v.value - zero) * unit);
    if (units > 0x1p52) return 1;
    stride = std::gcd(stride, static_cast<int64_t>(units));
    if (stride == 1) break;
  }
  return std::max<int64_t>(1, stride);
}

}  // namespace

Bins choose_levels(const ValueScale& scale, const std::vector<CountedValue>& values) {
  Bins levels = scale.with_edges({});
  levels.are_levels = true;
  levels.least_digits = std::min<int64_t>(scale.least_digits(), kMostDigits);
  const auto n_values = static_cast<int64_t>(values.size());
  const bool few =
      values.size() <= kFewLabels || (values.size() <= kMostLabels && count_of(values) >= kRowsPerLabel * n_values);
  std::vector<CountedValue> rest = few ? std::vector<CountedValue>{} : values;
  if (few) {
    for (const CountedValue& v : values) levels.own.push_back(v.value);
  } else {
    levels.own = take_recurring(rest);
  }
  if (rest.size() == 1) {
    levels.own.insert(std::upper_bound(levels.own.begin(), levels.own.end(), rest[0].value), rest[0].value);
    rest.clear();
  }
  if (rest.empty()) return levels;
  levels.stride = stride_of(levels, values);
  const auto n_rest = static_cast<int64_t>(rest.size());
  levels.are_points = n_rest <= kMostLevels && count_of(rest) >= kRowsPerPoint * n_rest;
  if (levels.are_points) {
    for (const CountedValue& v : rest) levels.edges.push_back(v.value);
    levels.edges.push_back(rest.back().value);
  } else {
    levels.edges = equally_full(rest);
  }
  if (levels.n_intervals() > kOneVariable)
    levels.fine = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(levels.n_intervals()))));
  return levels;
}

std::string describe_levels(const Bins& levels) {
  return concat(levels.range(), ", ", levels.n_intervals(), levels.are_points ? " values" : " levels",
                levels.own.empty() ? "" : concat(" and ", levels.own.size(), " that recur"));
}

NumbersOption NumbersOption::read(const SourceName& name) {
  constexpr const char* kNames[] = {"labels", "levels", "bins"};
  NumbersOption option;
  for (const std::string& piece : name.words("numbers")) {
    const size_t colon = piece.rfind(':');  // the name may contain colons
    const std::string word = colon == std::string::npos ? piece : piece.substr(colon + 1);
    const auto* const known = std::find(std::begin(kNames), std::end(kNames), word);
    if (known == std::end(kNames))
      name.fail_option("numbers", "labels, levels or bins, or columns with one of these, such as age:levels,");
    const auto kind = static_cast<Kind>(known - std::begin(kNames));
    if (colon == std::string::npos) {
      option.others = kind;
    } else if (!option.kinds.emplace(piece.substr(0, colon), kind).second) {
      name.fail_option("numbers", "each column once");
    }
  }
  return option;
}

NumbersOption::Kind NumbersOption::of(const std::string& column) const {
  const auto at = kinds.find(column);
  return at != kinds.end() ? at->second : others;
}

}  // namespace segre
