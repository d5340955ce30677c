#pragma once  // internal

#include "segre/likelihood/refine.h"

namespace segre {

/// The target error of every item and the budget for it.
struct EachTarget {
  double error = 0.1;  ///< standard error in nats
  int64_t most = 0;    ///< maximum evaluations per item that are averaged, besides a trial of a quarter as many, or of
                       ///< FreeOptions::times; 0: what costs about `work`
  double work = ErrorTarget::kWork;  ///< numbers of the network in total, the trial included
};

/// Scores of items, each with as many evaluations as it needed.
struct ReachedEach {
  ItemScores scores;
  torch::Tensor spent;       ///< [K] int64: evaluations of each
  bool capped = false;       ///< some errors are above the target because the budget ran out
  bool out_of_time = false;  ///< because the deadline came
};

/// The simulation-free bound of distinct labelings [K, n], each to the target error. As in reach_error, a trial that is
/// not averaged in finds how many evaluations an item needs; it gets options.times, or twice, four times, ... as many.
/// Unlike there, they are doubled as long as the error is too large, however far: the trial of a single item easily
/// misses a spread that its scores show. What this favours is a fraction of the error. An item's score depends on the
/// item, the seed and how many rounds it was in. Several ranks share the items; all get all scores. K is at least 1. A
/// deadline ends the rounds, and the work with DeadlineExceeded only if some items have not been in one yet, or if
/// there are several ranks. `on_progress` receives evaluations done, which only rise, and how many are planned so far.
ReachedEach score_each(const Flow& flow, const TimeDensity& density, const FreeOptions& options,
                       const torch::Tensor& labels, const EachTarget& target, const OnProgress& on_progress,
                       const std::shared_ptr<Ranks>& ranks = one_rank());

}  // namespace segre
