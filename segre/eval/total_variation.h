#pragma once

#include <unordered_map>

#include "segre/data/joint_table.h"

namespace segre {

/// Counts labelings as samples stream in, for any space whose labelings can be numbered in 62 bits.
class LabelingCounts {
 public:
  explicit LabelingCounts(const Space& space);
  /// Whether a space's labelings can be numbered.
  static bool serves(const Space& space);
  /// Adds labels [B, n] of any integer type; InputError as check_integer_labels.
  void add(const torch::Tensor& labels);
  /// How often a labeling [n] occurred.
  int64_t count(const torch::Tensor& labeling) const;
  /// Samples counted.
  int64_t total() const { return total_; }
  /// Counts of many labelings [R, n]: [R] int64. InputError likewise.
  torch::Tensor counts(const torch::Tensor& labelings) const;

 private:
  Space space_;
  std::unordered_map<int64_t, int64_t> counts_;  // by number in enumeration order
  torch::Tensor strides_;                        // [n]
  int64_t total_ = 0;
};

/// 1/2 sum_alpha |count/N - p|, labelings outside the table included. In [0, 1], smaller is better.
double total_variation(const JointTable& table, const LabelingCounts& counts);

/// What total_variation is on average when N samples come from p itself: the noise floor. Exact (De Moivre's mean
/// absolute deviation of the binomial), for any N.
double total_variation_floor(const JointTable& table, int64_t n_samples);

}  // namespace segre
