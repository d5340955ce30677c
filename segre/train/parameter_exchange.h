#pragma once  // internal

#include "segre/ranks/tree_sum.h"
#include "segre/train/state_shares.h"

namespace segre {

/// What ranks exchange in a training step on the CPU: gradients on their way to the rank that updates a parameter, and
/// parameters on their way back. Each rank owns a run of consecutive parameters, about as many numbers as the others.
class ParameterExchange final : public StateShares {
 public:
  /// `parameters` give shapes and order; `n_leaves` is the number of shards of a batch, a power of two.
  ParameterExchange(std::shared_ptr<Ranks> ranks, const Tensors& parameters, int64_t n_leaves);

  bool is_first() const override { return ranks_->is_first(); }
  bool keeps_all_weights() const override { return true; }
  Rows own(size_t k) const override { return {0, owns(k) ? parameters_[k].numel() : 0}; }
  std::vector<torch::Tensor> whole(const std::vector<torch::Tensor>& parts,
                                   const std::optional<torch::Device>& where) override;
  /// Whether this rank owns parameter k.
  bool owns(size_t k) const { return offsets_[k] >= tree_.own().from && offsets_[k] < tree_.own().to; }
  /// Adds up gradients over all shards of all ranks; `nodes` are this rank's, as merge_nodes left them. Gradients of
  /// parameters that this rank does not own, or that have none, are undefined.
  Tensors sum(std::vector<TreeNode> nodes);
  /// Gives the owners' tensors, shaped like the parameters, to everyone, in place.
  void spread(const Tensors& tensors);
  /// The owners' number for each parameter, for everyone: [parameters] float64.
  torch::Tensor spread_numbers(const torch::Tensor& numbers);

 private:
  torch::Tensor flat(const Tensors& tensors) const;
  torch::Tensor view(const torch::Tensor& x, size_t k) const;
  void agree_on_defined(const std::vector<TreeNode>& nodes);

  std::shared_ptr<Ranks> ranks_;
  Tensors parameters_;
  std::vector<int64_t> offsets_;  // [parameters + 1], of each in the flat vector
  TreeSum tree_;
  std::vector<bool> defined_;  // parameters that have gradients; empty before the first sum
};

}  // namespace segre
