#pragma once  // internal

#include "segre/core/captured.h"
#include "segre/flow/flow.h"
#include "segre/ranks/ranks.h"
#include "segre/space/space.h"

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

/// How ranks share consecutive rows of some work: each does a few whole blocks of them, in order. A row is computed
/// within the same block, hence to the same bits, for any number of ranks; a rank may have none.
class SharedRows {
 public:
  /// Rows 0 ... count - 1 in blocks of `block`, the last of which may be shorter.
  SharedRows(std::shared_ptr<Ranks> ranks, int64_t count, int64_t block = 1);

  /// All rows.
  int64_t count() const { return count_; }
  /// Those of this rank.
  const Rows& own() const { return own_; }
  /// What all ranks found, for every rank: [own().count(), ...] on the CPU, of any type -> [count, ...].
  torch::Tensor gather(const torch::Tensor& own) const;
  /// The same for labels of a space, [own().count(), ...] int64, which travel in few bytes; they may be kUnknown.
  torch::Tensor gather_labels(const Space& space, const torch::Tensor& own) const;

 private:
  std::shared_ptr<Ranks> ranks_;
  int64_t count_;
  std::vector<int64_t> counts_;  // of each rank
  Rows own_{};
};

}  // namespace segre
