#pragma once

#include "segre/likelihood/refine.h"

namespace segre {

/// The error that every item is to have, and what may be spent on it.
struct EachTarget {
  double error = 0.1;  ///< standard error in nats
  int64_t most = 0;    ///< evaluations per item; 0: about ErrorTarget::kWork of the network's numbers altogether
};

/// Scores of items that were each given as many evaluations as they needed.
struct EachScores {
  ItemScores scores;
  torch::Tensor spent;  ///< [K] int64: evaluations of each
  bool capped = false;  ///< some have a larger error than was wanted, since no more was to be spent
};

/// The simulation-free bound of different labelings [K, n], each to the wanted error. First all get what brings their
/// root mean square error there; then those that still have a larger one, which are the odd ones, are given as much
/// again, and again. An item's score depends on the item, the seed and how often it was taken up.
EachScores score_each(const Flow& flow, const TimeDensity& density, const FreeOptions& options,
                      const torch::Tensor& labels, const EachTarget& target, const OnProgress& on_progress);

}  // namespace segre
