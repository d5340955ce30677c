#pragma once  // internal

#include <functional>
#include <vector>

#include "segre/data/source.h"

namespace segre {

/// A tree with its probabilities, padded to the largest number of labels.
struct CountedTree {
  std::vector<int64_t> parents;  ///< [n], -1 for roots
  torch::Tensor marginals;       ///< [n, width] float64
  torch::Tensor tables;          ///< [n, width, width] float64: row a is p(x_i | parent = a)
};

/// Changes the labels [B, n] of items first, first + 1, ... before they are counted.
using FillLabels = std::function<torch::Tensor(const torch::Tensor& labels, int64_t first)>;

/// Most coordinates of a space whose pairs can be counted.
inline constexpr int64_t kMostPaired = 8192;

/// Counts all pairs of labels and finds the tree of largest mutual information, less what each edge's parameters cost.
/// Pairs with an unknown label are not counted unless `fill` replaces it. One more count per parent label, spread like
/// the child's labels, keeps every probability above 0. Variables that are `apart` are joined with none.
CountedTree count_tree(const DataSource& source, const FillLabels& fill = nullptr,
                       const std::vector<int64_t>& apart = {});

}  // namespace segre
