#pragma once  // internal

#include "segre/core/work.h"
#include "segre/eval/convergence.h"
#include "segre/likelihood/scores.h"
#include "segre/runs/load_run.h"

namespace segre {

/// Result of the paper's experiment on importance sampling.
struct Convergence {
  int64_t n_items = 0;  ///< distinct labelings
  int64_t draws = 0;    ///< per labeling
  std::vector<ConvergencePoint> points;
  ScoreSummary summary;         ///< of the bound from all draws
  double weight_scatter = 0.0;  ///< standard deviation of a log weight, in nats, averaged over items
};

/// Draws many weights for each of the items [N, n] and measures how fast their mean converges. Equal items are
/// processed once and weighted by their count. options.draws is ignored. Error if the bound is impossible.
Convergence converge(const LoadedRun& run, const torch::Tensor& labels, const FlowBoundOptions& options, int64_t draws,
                     const WorkCallbacks& callbacks = {});

}  // namespace segre
