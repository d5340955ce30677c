#pragma once  // internal

#include "segre/recipes/experiment.h"

namespace segre {

/// Share of a training's time that validations, pictures and checkpoints may take.
inline constexpr double kWatchShare = 0.05;

/// How often and how thoroughly to validate a training.
struct WatchPlan {
  int64_t validations;  ///< evenly spread, the last one at the end
  int64_t evaluations;  ///< of the network per validation
  bool pictures;        ///< whether samples are drawn during training, not only at the end
};

/// Network evaluations per picture of samples; 0: none are drawn.
int64_t picture_evaluations(const Experiment& experiment, const Space& space);

/// The plan for `steps` steps of `batch` items; stays within kWatchShare, except for a minimum of validations.
/// `picture` is picture_evaluations().
WatchPlan plan_watch(int64_t steps, int64_t batch, int64_t picture);

}  // namespace segre
