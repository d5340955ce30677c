#pragma once  // internal

#include <cstdint>
#include <vector>

#include "segre/data/dataset.h"

namespace segre {

/// Collects labels one by one while neither their count nor the largest is known: a byte each until one needs more, or
/// is kUnknown. The tensor takes over the memory without a copy.
class LabelStore {
 public:
  void add(int32_t label) {
    if (!is_wide_ && label >= 0 && label <= 0xff) {
      bytes_.push_back(static_cast<uint8_t>(label));
    } else {
      add_wide(label);
    }
  }
  /// Gets or sets label `index`, in the order of adding.
  int32_t at(int64_t index) const { return is_wide_ ? words_[index] : bytes_[index]; }
  void set(int64_t index, int32_t label);
  /// The number of labels.
  int64_t size() const { return static_cast<int64_t>(is_wide_ ? words_.size() : bytes_.size()); }
  /// Renumbers the labels of each of n columns: label j of column i becomes place[i][j].
  void relabel(const std::vector<std::vector<int32_t>>& place);
  /// The same with one numbering for all columns: label j becomes place[j].
  void relabel(const std::vector<int32_t>& place);
  /// The labels as [N, n] of label_type(space, unknowns); the store is empty afterwards.
  torch::Tensor take(const Space& space, Unknowns unknowns = Unknowns::refuse);

 private:
  void add_wide(int32_t label);
  void widen();

  bool is_wide_ = false;
  std::vector<uint8_t> bytes_;
  std::vector<int32_t> words_;
};

}  // namespace segre
