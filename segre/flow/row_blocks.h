#pragma once  // internal

#include "segre/core/captured.h"
#include "segre/flow/flow.h"

namespace segre {

/// How many rows of a flow to evaluate at once: on the CPU the work of one thread, large enough for matrix products and
/// small enough for its cache; on a GPU enough to keep it busy.
int64_t rows_per_block(const Flow& flow);

/// Applies a row-wise function to any number of rows, a fixed number at a time, so that CUDA replays one graph.
/// On CUDA a partial last block is padded with copies, so a row's result does not depend on the number of rows. On the
/// CPU the last block is shorter; callers there pass each item's rows in a separate call.
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
