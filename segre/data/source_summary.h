#pragma once  // internal

#include <vector>

#include "segre/data/source.h"

namespace segre {

/// What one column of a table looks like.
struct ColumnSummary {
  std::string name;
  int64_t n_labels = 0;
  std::string common;         ///< its most common label
  double common_share = 0.0;  ///< its share
  double missing_share = 0.0;
};

/// A summary of a source's first items.
struct SourceSummary {
  int64_t n_items = 0;                 ///< 0: endless
  int64_t n_seen = 0;                  ///< items examined
  int64_t fewest_labels = 0;           ///< smallest c_i
  int64_t most_labels = 0;             ///< largest c_i
  int64_t memory_bytes = 0;            ///< size of its labels; 0 for endless sources
  double missing_share = 0.0;          ///< of all values seen
  std::vector<double> label_shares;    ///< [c] of all values seen if all variables share their labels; else empty
  std::vector<ColumnSummary> columns;  ///< for tables with at most kMaxColumns columns; else empty

  static constexpr int64_t kMaxColumns = 50;
};

/// Summarises the first `most` items of a source, or all if it has fewer.
SourceSummary summarise(const DataSource& source, int64_t most);

}  // namespace segre
