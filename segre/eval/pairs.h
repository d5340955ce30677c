#pragma once  // internal

#include <string>
#include <utility>
#include <vector>

#include "segre/space/space.h"

namespace segre {

/// Pairs of variables whose joint frequencies are compared.
struct PairFamily {
  std::string name;      ///< "neighbouring pixels"
  torch::Tensor first;   ///< [P] int64
  torch::Tensor second;  ///< [P] int64
  int64_t n_there = 0;   ///< all pairs of this kind in the space; P of them are chosen
};

/// In pairs, labels of a variable beyond the kMostPairLabels - 1 most common count as one: their cells would hold no
/// items.
inline constexpr int64_t kMostPairLabels = 8;

/// Which pairs to compare: all of them if they are few; else the neighbours of an image (right and below) or of a
/// sequence, and a fixed random selection of all pairs. Empty for a single variable.
std::vector<PairFamily> choose_pairs(const Space& space);

/// A space with at most kMostPairLabels labels per variable, and where each label went.
struct MergedLabels {
  Space space;
  std::vector<torch::Tensor> place;  ///< per variable [c_i] int64; empty if nothing was merged

  /// Labels [B, n] in the merged numbering.
  torch::Tensor apply(const torch::Tensor& labels) const;
};
/// Keeps the labels that are most common in `labels` [B, n].
MergedLabels merge_rare_labels(const Space& space, const torch::Tensor& labels);

/// The space whose variables are pairs of variables of another, with c_i c_j labels: label a c_j + b is (a, b).
Space pair_space(const Space& space, const PairFamily& pairs);
/// The labels [B, n] as labels of pairs [B, P].
torch::Tensor pair_labels(const Space& space, const PairFamily& pairs, const torch::Tensor& labels);

/// Mean over the pairs of the total variation between their frequencies and the product of the variables' own:
/// `shares` [S] are the frequencies of the labels of pair_space.
double dependence(const Space& space, const PairFamily& pairs, const torch::Tensor& shares);

}  // namespace segre
