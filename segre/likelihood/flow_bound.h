#pragma once

#include "segre/flow/carry.h"
#include "segre/likelihood/proposal.h"
#include "segre/likelihood/scores.h"
#include "segre/likelihood/trace.h"

namespace segre {

/// How much of the proposal's normal distributions lies inside the balls.
struct BallMass {
  double share = 0.8;
  bool each = false;  ///< of each variable, as the paper prints it; else of all variables together

  double of_each(int64_t n_variables) const;
};

struct FlowBoundOptions {
  ProposalKind proposal = ProposalKind::path;
  TraceOptions trace{};
  int64_t draws = 4;           ///< states drawn per item
  double t1 = 0.0;             ///< when labels are read; 0: at the decision time
  BallMass mass{};             ///< of the proposal's normals inside the balls
  int64_t panels = 2;          ///< of the divergence's quadrature, 15 nodes each
  int64_t steps_per_node = 1;  ///< Runge-Kutta steps between two nodes of the divergence's quadrature
  uint64_t seed = 1;
  torch::Tensor given{};  ///< [n] bool: variables that are given, so that log p of the others given these is bounded
};

/// Weights of draws: log nu_t1(v) + log P(alpha | v) - log rho(v) with v ~ rho.
struct LogWeights {
  torch::Tensor values;      ///< [N, draws] float64 on the CPU
  torch::Tensor distances;   ///< [N, draws] float64: between the two quadrature rules
  torch::Tensor trajectory;  ///< [N] float64: effect of halving the steps on draw 0; 0 without that draw
  TraceOptions trace;        ///< how they were computed

  /// Signed estimate of the integration error in the mean of an item's weights: [N].
  torch::Tensor integration_error() const;
};

/// Appends the draws of `second` to those of `first`, for the same items.
LogWeights join_draws(const LogWeights& first, const LogWeights& second);

/// The flow's own likelihood, bounded from below by importance sampling:
///
///   log p_alpha >= E_rho[ log nu_t1(v) + log P(alpha | v) - log rho(v) ]
///   log nu_t1(v) = log N(x_0) - dim log s_t1 - int_0^t1 alpha tr(dD/dv) dt
///
/// along the flow back from v at t1 to x_0 at 0. Runge-Kutta steps in x = v/s pass through the nodes of a Gauss-Kronrod
/// rule, where the trace is evaluated: few traces, and the rule estimates its own error.
class FlowBound {
 public:
  FlowBound(Flow flow, const FlowBoundOptions& options);

  /// Weights of items [N, n] int64, kUnknown for variables that are left out; each depends only on the item and the
  /// seed.
  LogWeights operator()(const torch::Tensor& labels) const { return draws(labels, 0, options_.draws); }
  /// The same for draws number first ... first + count - 1, count >= 1. Only draw 0 estimates the error of
  /// trajectories.
  LogWeights draws(const torch::Tensor& labels, int64_t first, int64_t count) const;
  double t1() const { return t1_; }
  /// Cost of a draw in evaluations of the network, counting a derivative as three.
  int64_t evaluations_per_draw() const;
  const FlowBoundOptions& options() const { return options_; }

 private:
  struct Rows;  // draws of items, on the device
  struct Span {
    int64_t first, count;
  };
  std::vector<Span> blocks_of(int64_t n_items, int64_t n_draws) const;
  torch::Tensor results_of(const Span& span, const torch::Tensor& labels, const std::vector<uint64_t>& seeds,
                           int64_t first_draw, int64_t n_draws) const;
  Rows draw(const torch::Tensor& labels, const std::vector<uint64_t>& seeds, const std::vector<int64_t>& draws) const;
  torch::Tensor weigh(const Rows& rows) const;  // [R, 2]: log weight, distance between the two rules
  torch::Tensor trajectory_error(const torch::Tensor& v, const Known& known) const;  // [R]
  int64_t steps_between(double from, double to) const;
  void make_nodes();

  struct Node {
    double t;
    double weight;        // of the 15-node rule, in sigma
    double gauss_weight;  // of the 7-node rule
  };

  Flow flow_;
  FlowBoundOptions options_;
  double t1_;
  std::vector<Node> nodes_;  // rising
  Carrier carry_;
  Trace trace_;
};

/// The mean of the weights: the paper's bound, valid in expectation for every kind of trace.
ItemScores mean_of_weights(const LogWeights& weights);

/// InputError unless the trace is exact: noise of probes inside an exponential lifts its mean above the likelihood.
void require_exact_trace(const TraceOptions& trace);

/// log of the mean of the weights: tighter. InputError as in require_exact_trace.
ItemScores log_mean_of_weights(const LogWeights& weights);

}  // namespace segre
