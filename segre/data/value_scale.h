#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "segre/space/bins.h"

namespace segre {

/// What the values of a column are, found out as they come: all numbers, or all dates.
class ValueScale {
 public:
  /// The value of a text; nothing where it is neither a number nor a date, or not what those before it were.
  std::optional<double> add(std::string_view text);
  /// Whether the values so far are dates.
  bool is_date() const { return has_values_ && kind_.unit != Bins::Unit::number; }
  /// Bins with these edges for values of this kind.
  Bins with_edges(std::vector<double> edges) const;

 private:
  bool has_values_ = false;
  Bins kind_;  // without edges
};

/// At most `most` bins that hold as many of the values each as ties allow: their edges are values at the quantiles,
/// each once. A constant is one bin. There must be a value.
Bins quantile_bins(const ValueScale& scale, std::vector<double> values, int64_t most);

}  // namespace segre
