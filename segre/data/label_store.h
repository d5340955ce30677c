#pragma once  // internal

#include <cstdint>
#include <vector>

#include "segre/data/dataset.h"
#include "segre/io/growing_buffer.h"

namespace segre {

/// Collects labels one by one while neither their count nor the largest is known: a byte each until one needs more, or
/// is kUnknown. They need not fit into memory: see GrowingBuffer. The tensor takes over the memory without a copy.
class LabelStore {
 public:
  /// More than `most_in_memory` bytes of labels are kept in a temporary file.
  explicit LabelStore(int64_t most_in_memory = GrowingBuffer::kMostInMemory)
      : bytes_(most_in_memory), words_(most_in_memory) {}

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
  int64_t size() const { return is_wide_ ? words_.size() : bytes_.size(); }
  /// Renumbers the labels of each of n columns: label j of column i becomes place[i][j].
  void relabel(const std::vector<std::vector<int32_t>>& place);
  /// The same with one numbering for all columns: label j becomes place[j].
  void relabel(const std::vector<int32_t>& place);
  /// Takes labels in a temporary file out of the process's memory; now and then, for those who get or set many.
  void release() const { is_wide_ ? words_.release() : bytes_.release(); }
  /// The labels as [N, n] of label_type(space, unknowns); the store is empty afterwards.
  torch::Tensor take(const Space& space, Unknowns unknowns = Unknowns::refuse);

 private:
  void add_wide(int32_t label);
  void widen();

  bool is_wide_ = false;
  GrowingArray<uint8_t> bytes_;
  GrowingArray<int32_t> words_;
};

}  // namespace segre
