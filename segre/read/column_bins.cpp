#include "segre/read/column_bins.h"

#include <algorithm>
#include <charconv>

#include "segre/core/error.h"
#include "segre/space/moment.h"
#include "segre/space/space.h"

namespace segre {
namespace {

Bins::Unit unit_of(const Moment& moment) {
  return moment.resolution == kSecondsPerDay ? Bins::Unit::day
         : moment.resolution == 60           ? Bins::Unit::minute
                                             : Bins::Unit::second;
}

int64_t digits_after_point(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos) return 0;
  const size_t end = std::min(text.find_first_not_of("0123456789", point + 1), text.size());
  return static_cast<int64_t>(end - point - 1);
}

}  // namespace

std::optional<double> ValueScale::add(std::string_view text) {
  if (const auto number = parse_number(text)) {
    if (is_date()) return std::nullopt;
    const int64_t decimals = decimals_of(*number);
    const int64_t written = digits_after_point(text);
    least_digits_ = least_digits_ ? std::min(*least_digits_, written) : written;
    const bool is_any = decimals == Bins::kAnyDecimals || kind_.decimals == Bins::kAnyDecimals;
    kind_.decimals = is_any ? Bins::kAnyDecimals : std::max(kind_.decimals, decimals);
    has_values_ = true;
    return number;
  }
  const auto moment = parse_moment(text);
  if (!moment || (has_values_ && !is_date())) return std::nullopt;
  kind_.unit = std::max(kind_.unit, unit_of(*moment));  // the finest
  has_values_ = true;
  return static_cast<double>(moment->seconds);
}

Bins ValueScale::with_edges(std::vector<double> edges) const {
  Bins bins = kind_;
  bins.edges = std::move(edges);
  return bins;
}

Bins quantile_bins(const ValueScale& scale, std::span<double> values, int64_t most) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<int64_t>(values.size());
  std::vector<double> edges;
  for (int64_t k = 0; k < most; ++k) {
    // k * n / most without overflow
    const double edge = values[k * (n / most) + k * (n % most) / most];
    if (edges.empty() || edge > edges.back()) edges.push_back(edge);
  }
  edges.push_back(values.back());
  return scale.with_edges(std::move(edges));
}

BinsOption BinsOption::read(const SourceName& name) {
  constexpr int64_t kMost = kMaxLabels - 1;  // and one label for missing values
  BinsOption option;
  for (const std::string& piece : name.words("bins")) {
    if (piece == "auto") {
      option.is_auto = true;
      continue;
    }
    const size_t colon = piece.rfind(':');  // the name may contain colons
    int64_t count = 0;
    if (colon != std::string::npos) {
      const char* const end = piece.data() + piece.size();
      const auto [stop, error] = std::from_chars(piece.data() + colon + 1, end, count);
      if (error != std::errc() || stop != end) count = 0;
    }
    if (count < 1 || count > kMost)
      name.fail_option("bins",
                       concat("auto, or columns with their number of bins, 1 to ", kMost, ", such as age:8,fare:10,"));
    if (!option.counts.emplace(piece.substr(0, colon), count).second) name.fail_option("bins", "each column once");
  }
  return option;
}

}  // namespace segre
