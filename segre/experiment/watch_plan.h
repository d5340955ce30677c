#pragma once

#include "segre/experiment/experiment.h"

namespace segre {

/// Share of a training's time that validations, pictures and checkpoints may take.
inline constexpr double kWatchShare = 0.05;

/// How often a training is looked at, and how closely.
struct WatchPlan {
  int64_t validations;  ///< evenly spread, the last one at the end
  int64_t evaluations;  ///< of the network in each
  bool pictures;        ///< whether samples are drawn on the way, not at the end alone
};

/// Evaluations of the network that a picture of samples takes; 0: none are drawn.
int64_t picture_evaluations(const Experiment& experiment, const Space& space);

/// The plan for so many steps of `batch` items, that stays within kWatchShare where that leaves anything to look at.
/// `picture` as picture_evaluations says.
WatchPlan plan_watch(int64_t steps, int64_t batch, int64_t picture);

}  // namespace segre
