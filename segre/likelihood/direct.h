#pragma once

#include "segre/flow/carry.h"
#include "segre/likelihood/scores.h"
#include "segre/ranks/ranks.h"

namespace segre {

struct DirectOptions {
  int64_t draws = 100'000;  ///< trajectories simulated
  double t1 = 0.0;          ///< when labels are read; 0: at the decision time
  bool matched = true;      ///< use the matched readout; otherwise W = softmax(v), as in the paper
  uint64_t seed = 1;
};

/// Maximum number of labelings for direct simulation, which has to hit each of them.
inline constexpr int64_t kMaxDirectLabelings = 1 << 16;

/// The paper's joint representation p_alpha = E[T(W)_alpha], simulated: trajectories of the flow run from noise to t1,
/// and log T(W)_alpha = sum_i log W_{i, alpha_i} is averaged over them in the log domain. An unbiased estimate of p,
/// not a bound. The error grows as labelings get rare, so it is for small spaces only (InputError otherwise), and is
/// NaN if too few trajectories come near a labeling to estimate it. All items share the same trajectories:
/// ItemScores::shared describes how their errors are correlated. The noise has its own stream, so it is independent of
/// samples with the same seed.
class DirectSimulation {
 public:
  /// labels [N, n] int64. Several ranks share the trajectories; all get the same scores.
  DirectSimulation(Flow flow, const torch::Tensor& labels, const DirectOptions& options,
                   std::shared_ptr<Ranks> ranks = one_rank());

  /// Evaluations of the network that a trajectory takes.
  static constexpr int64_t kEvaluationsPerDraw = 128;

  /// Runs `draws` more trajectories. Error if the flow produces non-finite numbers.
  void add(int64_t draws);
  int64_t draws() const { return n_draws_; }
  /// Requires at least two trajectories.
  ItemScores scores() const;

 private:
  static constexpr int64_t kGroups = 64;
  torch::Tensor simulate(uint64_t first, int64_t count) const;
  torch::Tensor log_probabilities(uint64_t first, int64_t count) const;
  torch::Tensor sums_of_block(uint64_t first, int64_t count) const;

  Flow flow_;
  DirectOptions options_;
  std::shared_ptr<Ranks> ranks_;
  double t1_;
  Carrier carry_;
  torch::Tensor hot_;  // [S, N] float64: the items' labels
  int64_t n_draws_ = 0;
  torch::Tensor sums_;         // [kGroups, N]: log of the sum of p over a group's trajectories
  torch::Tensor squares_;      // [N]: log of the sum of p^2 over all
  torch::Tensor group_draws_;  // [kGroups]
};

/// The estimate from options.draws trajectories.
ItemScores direct_estimate(const Flow& flow, const torch::Tensor& labels, const DirectOptions& options);

}  // namespace segre
