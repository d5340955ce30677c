#pragma once  // internal

#include "segre/ranks/ranks.h"

// Sums in a fixed binary tree: leaves 2k and 2k + 1 make node k of the next level, and so on up to the root. The bits
// of the sum depend on the leaves alone, not on how many ranks hold them: the lower levels are within ranks, the upper
// ones between them.

namespace segre {

/// Vectors to add up, such as the gradients of all parameters.
using Tensors = std::vector<torch::Tensor>;

/// A node of the tree with the sum of its leaves, which are index * 2^level ... (index + 1) * 2^level - 1.
struct TreeNode {
  int level;
  int64_t index;
  Tensors sum;
};

/// Adds up neighbours as far as the tree allows; nodes are in order of their leaves. Uses the memory of the first of
/// each two. Undefined tensors stay undefined.
std::vector<TreeNode> merge_nodes(std::vector<TreeNode> nodes);

/// The upper levels of the tree, between ranks.
class TreeSum {
 public:
  /// `n_leaves` is a power of two. The sum is a vector that is cut at cuts[0] = 0, cuts[1], ... cuts[size] into a
  /// segment per rank.
  TreeSum(std::shared_ptr<Ranks> ranks, int64_t n_leaves, std::vector<int64_t> cuts, torch::TensorOptions options);

  /// The leaves that a rank adds up by itself.
  static Rows leaves_of(const Ranks& ranks, int64_t n_leaves) { return ranks.share_of(n_leaves); }
  /// The segment that this rank has the sum of after reduce().
  Rows own() const { return segment(own_); }
  /// From this rank's nodes, as merge_nodes left them, each one tensor [n]: the sum over all leaves, [n], whose own()
  /// is complete; the rest is scratch. Ranks that are a power of two exchange halves that get ever shorter: n numbers
  /// travel per rank. Other numbers of ranks gather all nodes.
  torch::Tensor reduce(std::vector<TreeNode> nodes);
  /// Gives everyone's own() segment of x [n] to everyone.
  void spread(const torch::Tensor& x);

 private:
  Rows segment(int64_t k) const { return {cuts_[k], cuts_[k + 1]}; }
  torch::Tensor reduce_by_gathering(std::vector<TreeNode> nodes);
  // One round of the exchange: partner, and the segments that this rank keeps and gives away.
  struct Round {
    int partner;
    Rows kept;
    Rows given;
  };
  torch::Tensor part(const torch::Tensor& x, const Rows& segments) const;

  std::shared_ptr<Ranks> ranks_;
  int64_t n_leaves_;
  std::vector<int64_t> cuts_;
  torch::TensorOptions options_;
  std::vector<Round> rounds_;  // empty: not a power of two
  int64_t own_ = 0;
};

}  // namespace segre
