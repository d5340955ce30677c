#pragma once  // internal

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "segre/data/source_name.h"
#include "segre/read/column_bins.h"
#include "segre/space/bins.h"

namespace segre {

/// A value of a column and how many rows have it.
struct CountedValue {
  double value = 0.0;
  int64_t count = 0;
};

/// The levels of a column with these different values, at least one, in ascending order. Few values, and those that
/// recur too often for chance, have labels of their own. The rest is cut into intervals with about as many rows each,
/// the fewer the rows, the fewer; where most values recur a little, each is a level. More than a few levels share the
/// labels of a first variable, and a second one says which.
Bins choose_levels(const ValueScale& scale, const std::vector<CountedValue>& values);

/// What they are, in words: "0 to 99999, 95 values and 24 that recur".
std::string describe_levels(const Bins& levels);

/// What a column of numbers or dates becomes: `numbers=levels` (the default), labels or bins, for all columns or, as in
/// `numbers=zip:labels,age:bins`, for some.
struct NumbersOption {
  enum class Kind { labels, levels, bins };
  Kind others = Kind::levels;
  std::map<std::string, Kind> kinds{};  ///< by column

  /// InputError names source and option if the option is malformed.
  static NumbersOption read(const SourceName& name);
  Kind of(const std::string& column) const;
};

}  // namespace segre
