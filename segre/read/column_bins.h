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

/// What the values of a column are, detected as they come: all numbers, or all dates.
class ValueScale {
 public:
  /// The value of a text; nullopt if it is neither a number nor a date, or differs in kind from those before it.
  std::optional<double> add(std::string_view text);
  /// Whether the values so far are dates.
  bool is_date() const { return has_values_ && kind_.unit != Bins::Unit::number; }
  /// Bins with these edges for values of this kind.
  Bins with_edges(std::vector<double> edges) const;
  /// The fewest digits that a text has after the point.
  int64_t least_digits() const { return least_digits_.value_or(0); }

 private:
  bool has_values_ = false;
  Bins kind_;  // without edges
  std::optional<int64_t> least_digits_;
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
