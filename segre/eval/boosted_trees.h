#pragma once  // internal

#include <cstdint>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// How boosted trees are grown. The values are XGBoost's, so that what they find is comparable.
struct BoostedOptions {
  int64_t n_trees = 100;
  int64_t depth = 6;          ///< splits on the way to a leaf, at most
  double rate = 0.3;          ///< the share of a tree's step that is taken
  double ridge = 1.0;         ///< added to a leaf's curvature
  double least_weight = 1.0;  ///< curvature that a leaf needs
};

/// Gradient boosting of trees on histograms: a table's columns predict an outcome of each row. Deterministic, whatever
/// the number of threads.
///
/// A leaf with gradients g and curvatures h of the loss steps by -sum g / (sum h + ridge). A split separates the
/// numbers of a column up to one of 254 quantiles from those above, missing ones (NaN) going with the smallest, or one
/// label from all others; the one with the largest gain of sum(g)^2 / (sum h + ridge) is taken.
class BoostedTrees {
 public:
  /// What is predicted, and the loss: the log odds of an outcome of 1 (logistic), or a number (squared error).
  enum class Goal { log_odds, number };

  /// Learns from x [N, C] float64 and outcomes [N]. `are_labels` [C]: columns whose values are numbers of labels, 0, 1,
  /// ... InputError without rows or columns.
  BoostedTrees(const torch::Tensor& x, const std::vector<bool>& are_labels, const std::vector<double>& outcome,
               Goal goal, const BoostedOptions& options = {});

  /// The prediction for each row of x [M, C].
  std::vector<double> predict(const torch::Tensor& x) const;
  /// How much the splits of each column gained, [C], summing to 1 unless there are none.
  std::vector<double> gains() const;

 private:
  // How the values of a column become the numbers of bins: 0 missing, then labels or intervals of numbers.
  struct Binning {
    bool are_labels = false;
    int64_t n_bins = 1;
    std::vector<double> cuts;  // of numbers: bin k + 1 holds values in (cuts[k - 1], cuts[k]]
    uint8_t bin(double value) const;
  };
  struct Node {
    int64_t column = -1;  // of a split; -1: a leaf
    uint8_t bin = 0;      // goes left: this bin (labels), or all up to it
    int64_t left = 0;
    int64_t right = 0;
    double step = 0.0;  // of a leaf
  };
  using Tree = std::vector<Node>;
  struct Sums;
  class Grower;

  static Binning make_binning(const double* column, int64_t n_rows, int64_t stride, bool are_labels);
  // [C, N] uint8: the bins of x.
  torch::Tensor bins_of(const torch::Tensor& x) const;
  bool goes_left(const Node& node, uint8_t bin) const {
    return binnings_[node.column].are_labels ? bin == node.bin : bin <= node.bin;
  }

  std::vector<Binning> binnings_;
  std::vector<Tree> trees_;
  std::vector<double> gains_;
  double start_ = 0.0;  // the prediction without trees
};

}  // namespace segre
