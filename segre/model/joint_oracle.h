#pragma once

#include "segre/data/joint_table.h"
#include "segre/path/path.h"
#include "segre/path/state.h"

namespace segre {

/// The exact flow of a known joint distribution p: every quantity of the model in closed form, with no network.
/// Integrators, samplers, densities and bounds are tested against it.
///
/// The path is Gaussian given the labels, so nu_t(v) = sum_beta p_beta N(v; a_t u_beta, s_t^2 1), and
///   posterior    w_beta(v) ~ p_beta exp(sum_i e_{i, beta_i}),   e = (kappa a / s^2) v
///   endpoint     D = sum_beta w_beta u_beta = kappa_i (marginals_i(w) - 1/c_i)
///   velocity     F = alpha D + (s'/s) v                         alpha = a' - a s'/s
///   divergence   alpha (a/s^2) tr Cov_w(u) + dim s'/s           tr Cov = sum_i kappa_i^2 (1 - |marginals_i|^2)
/// (|u_beta| is the same for all beta, so no other term enters the posterior.)
///
/// All calls are batched, v [B, S] in float64 (or float32), and cost B * R for R labelings in the support.
class JointOracle {
 public:
  /// InputError like check_joint.
  JointOracle(JointTable table, std::shared_ptr<const Path> path);

  const Space& space() const { return table_.space; }
  const Path& path() const { return *path_; }
  const std::shared_ptr<const Path>& shared_path() const { return path_; }
  const JointTable& table() const { return table_; }

  /// log nu_t(v) on T0: [B].
  torch::Tensor log_density(const torch::Tensor& v, double t) const;
  /// log w_beta(v) over the table's labelings: [B, R].
  torch::Tensor log_posterior(const torch::Tensor& v, double t) const;
  /// The posterior's marginals, P(beta_i = j | v): [B, S].
  torch::Tensor posterior_marginals(const torch::Tensor& v, double t) const;
  /// The same for any state: times of rows or variables, and what is known besides. InputError if that is impossible.
  torch::Tensor posterior_marginals(const State& state) const;
  /// D: [B, S].
  torch::Tensor endpoint(const torch::Tensor& v, double t) const;
  /// The same for any state; 0 for variables that the flow does not carry.
  torch::Tensor endpoint(const State& state) const;
  /// F: [B, S].
  torch::Tensor velocity(const torch::Tensor& v, double t) const;
  /// div F, the trace over T0: [B].
  torch::Tensor divergence(const torch::Tensor& v, double t) const;
  /// Exact log p(x_open | known) of labels [B, n], with soft evidence as a factor, and summed over the variables left
  /// out: [B]. InputError if what is known is impossible.
  torch::Tensor conditional_log_p(const torch::Tensor& labels, const Known& known) const;
  /// Exact log p of labelings [B, n], -inf for those not in the table: [B].
  torch::Tensor log_p(const torch::Tensor& labels) const;
  /// log weights of the path proposal, log nu_t1(v) + log P(alpha|v) - log rho(v) with v ~ rho = N(a u_alpha, s^2 1),
  /// for one labeling alpha [n] and given standard normals u_0 on T0 [K, S] on the same device: [K]. Their mean bounds
  /// log p_alpha from below and equals it up to misread labels.
  torch::Tensor path_log_weights(const torch::Tensor& labeling, const torch::Tensor& u_0, double t1) const;

 private:
  torch::Tensor unnormalised_log_posterior(const State& state) const;

  JointTable table_;
  std::shared_ptr<const Path> path_;
  torch::Tensor hot_;  // [R, S] one-hot labelings, float64
};

/// The joint distribution given what is known of one item (one row, nothing left out): p times the evidence,
/// renormalised, on the same space. InputError if it is impossible.
JointTable conditional(const JointTable& table, const Known& known);

}  // namespace segre
