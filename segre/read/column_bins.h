#pragma once  // internal

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "segre/data/source_name.h"
#include "segre/space/bins.h"

namespace segre {

/// What the values of a column are, detected as they come: all numbers, or all dates, times of day or durations of one
/// pattern (see moment.h), all or none with an offset from UTC.
class ValueScale {
 public:
  /// The value of a text; nullopt if it is none, or differs in kind from those before it. As long as is_ambiguous(), a
  /// date is read with the day first, and others may show that it was the month.
  std::optional<double> add(std::string_view text);
  bool is_empty() const { return !has_values_; }
  /// Whether the values so far are dates, times or durations.
  bool is_date() const { return has_values_ && kind_.unit != Bins::Unit::number; }
  /// Whether the dates so far could be read in two ways, such as 03/05/2024.
  bool is_ambiguous() const { return patterns_.size() > 1; }
  /// Bins with these edges for values of this kind.
  Bins with_edges(std::vector<double> edges) const;
  /// The fewest digits that a text has after the point.
  int64_t least_digits() const { return least_digits_.value_or(0); }

 private:
  std::optional<double> add_moment(std::string_view text);
  std::string pattern() const;

  bool has_values_ = false;
  Bins kind_;  // without edges
  std::optional<int64_t> least_digits_;
  std::vector<const char*> patterns_;  // those that all dates so far have
  std::string zone_;                   // the first one
  bool has_t_ = false;                 // between date and time
  bool has_short_ = false;             // a day or month of one digit
  bool has_zero_ = false;              // one that begins with a zero
};

/// At most `most` bins, as equally full as ties allow: their edges are the different values at the quantiles. A
/// constant is one bin. There must be at least one value. Sorts the values.
Bins quantile_bins(const ValueScale& scale, std::span<double> values, int64_t most);

/// `bins=age:8,fare:10`, `bins=auto`, or both separated by a comma: which columns of a table become intervals, and how
/// many.
struct BinsOption {
  static constexpr int64_t kAutoBins = 10;  ///< of a column that `auto` bins

  bool is_auto = false;                   ///< bin every column that would be refused as measurements or dates
  std::map<std::string, int64_t> counts;  ///< by column

  /// InputError names source and option if the option is malformed.
  static BinsOption read(const SourceName& name);
};

}  // namespace segre
