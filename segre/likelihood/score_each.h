#pragma once

#include "segre/likelihood/refine.h"

namespace segre {

/// The target error of every item and the budget for it.
struct EachTarget {
  double error = 0.1;  ///< standard error in nats
  int64_t most = 0;    ///< maximum evaluations per item; 0: about ErrorTarget::kWork of the network's numbers in total
};

/// Scores of items, each with as many evaluations as it needed.
struct EachScores {
  ItemScores scores;
  torch::Tensor spent;  ///< [K] int64: evaluations of each
  bool capped = false;  ///< some errors are above the target because the budget ran out
};

/// The simulation-free bound of distinct labelings [K, n], each to the target error. First, all get what brings their
/// root mean square error to it; then those still above it, the odd ones, get as much again, and again. An item's score
/// depends on the item, the seed and how many rounds it was in. Several ranks share the items; all get all scores.
EachScores score_each(const Flow& flow, const TimeDensity& density, const FreeOptions& options,
                      const torch::Tensor& labels, const EachTarget& target, const OnProgress& on_progress,
                      const std::shared_ptr<Ranks>& ranks = one_rank());

}  // namespace segre
