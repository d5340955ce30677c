#pragma once

#include "segre/flow/state_blocks.h"
#include "segre/likelihood/control.h"
#include "segre/likelihood/scores.h"
#include "segre/path/time_density.h"

namespace segre {

struct FreeOptions {
  int64_t times = 32;   ///< evaluations of the network per item, a multiple of 4
  double t1 = 0.0;      ///< when labels are read; 0: at the decision time
  bool control = true;  ///< subtract IndependentControl: same mean, less noise, one more evaluation
  uint64_t seed = 1;
  torch::Tensor given{};  ///< [n] bool: variables that are given, so that log p of the others given these is bounded
  bool per_variable = false;  ///< also what each variable contributes: ItemScores::cells
};

/// The simulation-free bound, forward passes only:
///
///   -log p_alpha <= E[-log P(alpha | v_t1)] + int_0^t1 1/2 d/dt(a^2/s^2) E|u_alpha - D(v_t, t)|^2 dt
///
/// It bounds the likelihood of the stochastic sampler that shares the flow's marginals and is exact for a perfect
/// model. Any function D gives a valid bound, including a network in bfloat16. Times are stratified, denser where
/// `density` puts the integrand; noise comes in antithetic pairs, two pairs per stratum, whose difference gives the
/// error; a control variate removes the noise explained by a model of independent variables.
class FreeBound {
 public:
  /// `density` only affects the choice of times: every density gives the same bound, a good one with less spread.
  FreeBound(Flow flow, const TimeDensity& density, const FreeOptions& options);

  /// log_p are unbiased estimates of lower bounds on log p of labels [N, n] int64, kUnknown for variables that are left
  /// out; each depends only on the item and the seed. Equal labelings have equal estimates, so score each once, see
  /// distinct_items.
  ItemScores operator()(const torch::Tensor& labels) const;
  double t1() const { return density_.t1(); }
  /// How many items to pass at once to keep all threads, or the GPU, busy.
  int64_t items_per_call() const;

 private:
  struct Rows;  // states of a few items, [item, pair, sign]
  int64_t items_per_block() const;
  Rows draw_rows(const torch::Tensor& labels, const Known& known, const std::vector<uint64_t>& seeds) const;
  /// What estimates of -log p add up from, per row and variable: [k, times / 2, n] float64, or [k, times / 2, 1] if
  /// only the sum is wanted. labels [k, n] on the device, log_q [k, S] of the control (undefined without it).
  torch::Tensor pair_estimates(const torch::Tensor& labels, const Known& known, const torch::Tensor& log_q,
                               const std::vector<uint64_t>& seeds) const;
  /// The control variate of the same pairs, whose mean is 0.
  torch::Tensor pair_controls(const Rows& rows, const torch::Tensor& labels, const Known& known,
                              const torch::Tensor& log_q, const torch::Tensor& read) const;
  torch::Tensor squared(const torch::Tensor& difference) const;
  torch::Tensor picked(const Known& known, const torch::Tensor& log_p, const torch::Tensor& labels) const;
  torch::Tensor log_q_of(const torch::Tensor& labels, const Known& known) const;

  Flow flow_;
  TimeDensity density_;
  FreeOptions options_;
  IndependentControl control_;
  std::shared_ptr<const StateBlocks> endpoint_;
};

}  // namespace segre
