#pragma once  // internal

#include <optional>
#include <span>
#include <string_view>
#include <vector>

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

 private:
  bool has_values_ = false;
  Bins kind_;  // without edges
};

/// At most `most` bins, as equally full as ties allow: their edges are the different values at the quantiles. A
/// constant is one bin. There must be at least one value. Sorts the values.
Bins quantile_bins(const ValueScale& scale, std::span<double> values, int64_t most);

}  // namespace segre
