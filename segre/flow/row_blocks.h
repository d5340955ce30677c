#pragma once

#include "segre/core/captured.h"
#include "segre/flow/flow.h"

namespace segre {

/// How many rows of a flow to evaluate at once: on the CPU one thread's work, large enough for the matrix products and
/// small enough for its cache; on a GPU enough to keep it busy.
int64_t rows_per_block(const Flow& flow);

/// Applies a function row by row to any number of rows, a fixed number at a time, so that CUDA replays one graph.
/// On CUDA a last block that is not full is filled up with copies: a row's result does not depend on how many came
/// with it. On the CPU it is shorter; callers there pass each item's rows in calls of their own.
class RowBlocks {
 public:
  /// `body`: tensors of R rows each -> one tensor of R rows.
  using Body = std::function<torch::Tensor(const std::vector<torch::Tensor>& inputs)>;
  RowBlocks(Body body, int64_t rows, torch::Device device);

  /// inputs [R, ...] each -> [R, ...].
  torch::Tensor operator()(const std::vector<torch::Tensor>& inputs) const;
  int64_t rows() const { return rows_; }

 private:
  Captured body_;
  int64_t rows_;
  bool fill_up_;
};

}  // namespace segre
