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

// The patterns that dates, times and durations of a column may have. Where two fit, the day is first.
constexpr const char* kPatterns[] = {
    moment_pattern::kIso, "%Y/%m/%d %T", "%Y.%m.%d %T", "%d.%m.%Y %T",         "%d/%m/%Y %T",
    "%m/%d/%Y %T",        "%d-%m-%Y %T", "%m-%d-%Y %T", moment_pattern::kTime, moment_pattern::kDuration};

// How many digits day and month have in a text, and whether one of them begins with a zero.
std::vector<size_t> widths_of_date(std::string_view text, bool& has_zero) {
  std::vector<size_t> widths;
  text = text.substr(0, text.find_first_of(" T:"));
  while (!text.empty()) {
    const size_t width = std::min(text.find_first_of("-./"), text.size());
    has_zero = has_zero || (width == 2 && text[0] == '0');
    widths.push_back(width);
    text.remove_prefix(std::min(width + 1, text.size()));
  }
  return widths;
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
  return has_values_ && !is_date() ? std::nullopt : add_moment(text);
}

std::optional<double> ValueScale::add_moment(std::string_view text) {
  static const std::vector<const char*> kAll(std::begin(kPatterns), std::end(kPatterns));
  std::optional<Moment> moment;
  std::vector<const char*> fitting;
  for (const char* pattern : has_values_ ? patterns_ : kAll) {
    const auto read = parse_moment(text, pattern);
    if (read) fitting.push_back(pattern);
    if (read && !moment) moment = read;
  }
  if (!moment || (has_values_ && moment->zone.empty() != zone_.empty())) return std::nullopt;
  patterns_ = std::move(fitting);
  if (!has_values_) zone_ = moment->zone;
  kind_.unit = std::max(kind_.unit, unit_of(*moment));  // the finest
  kind_.decimals = std::max(kind_.decimals, moment->digits);
  has_t_ = has_t_ || text.find('T') != std::string_view::npos;
  for (const size_t width : widths_of_date(text, has_zero_)) has_short_ = has_short_ || width == 1;
  has_values_ = true;
  return static_cast<double>(moment->seconds) + moment->fraction;
}

// How the dates are written; empty if as usual.
std::string ValueScale::pattern() const {
  if (!is_date()) return "";
  std::string text = patterns_.front();
  if (text.starts_with("%T") || text.starts_with("%D")) return text;
  const size_t time = text.find(" %T");
  if (has_t_) text[time] = 'T';
  if (kind_.unit == Bins::Unit::day) text.resize(time);
  for (const char* part : {"%m", "%d"})
    if (has_short_ && !has_zero_) text.insert(text.find(part) + 1, 1, '-');
  const bool is_usual = zone_.empty() && std::string_view(moment_pattern::kIso).starts_with(text);
  return is_usual ? "" : text + zone_;
}

Bins ValueScale::with_edges(std::vector<double> edges) const {
  Bins bins = kind_;
  bins.edges = std::move(edges);
  bins.pattern = pattern();
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
  Bins bins = scale.with_edges(std::move(edges));
  if (bins.pattern == "%Y-%m-%dT%T") bins.pattern.clear();  // names of bins have always had a space
  return bins;
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
