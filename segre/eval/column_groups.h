#pragma once  // internal

#include <string>
#include <vector>

#include "segre/read/value_table.h"

namespace segre {

/// The numbers among values [N] float64, those that are not NaN, ascending.
std::vector<double> sorted_known(const torch::Tensor& values);

/// How the numbers of a column are grouped.
struct GroupOptions {
  double least_share = 0.005;  ///< of the rows that a recurring value has, to be a group of its own
  int64_t most_own = 30;       ///< groups of one value
  int64_t most_groups = 38;    ///< of all
};

/// A column's values in groups, so that their shares can be compared: each label; values of numbers that recur, and
/// intervals between quantiles of the others, equally full; missing numbers.
class ColumnGroups {
 public:
  /// Groups for the values of all tables to be compared, end to end: [N] float64.
  ColumnGroups(const ValueColumn& column, const torch::Tensor& values, const GroupOptions& options);

  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }
  /// The groups of values [N]: [N] int64.
  torch::Tensor of(const torch::Tensor& values) const;

 private:
  int64_t group_of(double value) const;

  bool are_labels_ = false;
  std::vector<double> own_{};   // ascending: groups 0, 1, ...
  std::vector<double> cuts_{};  // the lower ends of the intervals but the first: the groups that follow
  int64_t n_intervals_ = 0;
  std::vector<std::string> names_;
};

/// A table's columns as variables whose labels are the groups.
struct GroupedTable {
  std::vector<ColumnGroups> groups;
  Space space;

  GroupedTable(const std::vector<ValueColumn>& columns, const torch::Tensor& values, const GroupOptions& options);
  /// Values [N, C] as labels [N, C] int64.
  torch::Tensor labels(const torch::Tensor& values) const;
};

}  // namespace segre
