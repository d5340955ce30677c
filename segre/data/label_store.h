#pragma once

#include <cstdint>
#include <vector>

#include "segre/data/dataset.h"

namespace segre {

/// Labels gathered one after the other while neither their number nor the largest is known: a byte each until one needs
/// more. The memory becomes the tensor's, without a copy.
class LabelStore {
 public:
  void add(int32_t label) {
    if (!is_wide_ && label <= 0xff) {
      bytes_.push_back(static_cast<uint8_t>(label));
    } else {
      add_wide(label);
    }
  }
  /// Label number `index` in the order in which they were added, and what it becomes.
  int32_t at(int64_t index) const { return is_wide_ ? words_[index] : bytes_[index]; }
  void set(int64_t index, int32_t label);
  /// How many there are.
  int64_t size() const { return static_cast<int64_t>(is_wide_ ? words_.size() : bytes_.size()); }
  /// Numbers the labels of each of n columns anew: label j of column i becomes place[i][j].
  void relabel(const std::vector<std::vector<int32_t>>& place);
  /// The same with one numbering for all columns: label j becomes place[j].
  void relabel(const std::vector<int32_t>& place);
  /// The labels as [N, n] of the space's label_type; the store is empty afterwards.
  torch::Tensor take(const Space& space);

 private:
  void add_wide(int32_t label);
  void widen();

  bool is_wide_ = false;
  std::vector<uint8_t> bytes_;
  std::vector<int32_t> words_;
};

}  // namespace segre
