#pragma once

#include "segre/flow/carry.h"
#include "segre/likelihood/scores.h"

namespace segre {

struct DirectOptions {
  int64_t draws = 100'000;  ///< trajectories simulated
  double t1 = 0.0;          ///< where labels are read; 0: the decision time
  bool matched = true;      ///< read by the matched readout; else W = softmax(v), as the paper writes it
  uint64_t seed = 1;
};

/// Largest number of labelings of a space in which direct simulation is offered: it has to meet every one of them.
inline constexpr int64_t kMaxDirectLabelings = 1 << 16;

/// The paper's joint representation p_alpha = E[T(W)_alpha], simulated: trajectories of the flow run from noise to t1,
/// and log T(W)_alpha = sum_i log W_{i, alpha_i} is averaged over them in the log domain. An unbiased estimate of p, no
/// bound; the error grows as labelings get rare, so it serves small spaces only (InputError otherwise),
/// and is NaN where too few trajectories came near a labeling to tell.
/// labels [N, n] int64; the same trajectories serve all items.
ItemScores direct_estimate(const Flow& flow, const torch::Tensor& labels, const DirectOptions& options);

}  // namespace segre
