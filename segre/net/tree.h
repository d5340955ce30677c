#pragma once

#include "segre/net/net_kinds.h"

namespace segre {

struct CountedTree;

/// The tree of Chow and Liu (1968): every variable depends on at most one other, chosen so that the mutual information
/// of all such pairs is largest. It is counted, not trained: fit() finds tree and tables from the data, and a training
/// only learns the law of times. Its messages are exact, by belief propagation from the leaves to the roots and back:
///
///   up_i(a) = sum_b T_i(a, b) s_i(b) prod_{children k} up_k(b),    s_i = softmax(e_i), T_i(a, b) = p(x_i = b | parent
///   a) down_i(b) = sum_a T_i(a, b) down_p(a) s_p(a) prod_{siblings k} up_k(a),     m_i = log(down_i prod_{children k}
///   up_k)
///
/// A pair whose mutual information is not worth the parameters of its table is not joined, so few rows give few edges.
/// Data with holes are counted several times, the holes filled by draws from the tree before (stochastic EM): right if
/// cells are missing at random, where the complete pairs alone would not be.
class TreeField final : public Field {
 public:
  /// Variables that are `apart` are joined with no other.
  explicit TreeField(const Space& space, std::vector<int64_t> apart = {});
  torch::Tensor forward(const FieldInput& input) override;
  void fit(const DataSource& source) override;
  void refresh() override;
  bool couples_items() const override { return false; }
  int64_t n_activations() const override { return 8 * n_ * width_; }
  NetCost cost() const override;

 private:
  // The variables at one distance from their roots.
  struct Level {
    torch::Tensor variables;  // [k] int64
    torch::Tensor parents;    // [k] positions in the level above; undefined for roots
    torch::Tensor tables;     // [k, width, width] p(label | parent's label)
  };
  torch::Tensor padded(const torch::Tensor& points) const;
  void set(const CountedTree& tree);
  torch::Tensor filled(const torch::Tensor& labels, int64_t first, int64_t round);

  Space space_;
  std::vector<int64_t> apart_;
  int64_t n_;
  int64_t width_;            // the largest number of labels; tables and messages are padded to it
  torch::Tensor parents_;    // [n] int64, -1 for roots
  torch::Tensor marginals_;  // [n, width]
  torch::Tensor tables_;     // [n, width, width]; row a of table i is p(x_i | parent = a)
  // Derived by refresh():
  std::vector<Level> levels_;
  torch::Tensor built_from_;   // [n] the parents, on the CPU
  torch::Tensor from_levels_;  // [n] positions of the variables among the levels laid end to end
  torch::Tensor to_padded_;    // [n * width] positions of the labels among the coordinates, S for padding
  torch::Tensor from_padded_;  // [S]
};

/// net.kind = "tree".
NetKind tree_kind();

}  // namespace segre
