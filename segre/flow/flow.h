#pragma once

#include <memory>

#include "segre/model/joint_oracle.h"
#include "segre/model/model.h"

namespace segre {

class FewRows;

/// What samplers and likelihoods know about a flow dv/dt = F(v, t), learned or exact. The mean endpoint D determines it
/// (F = alpha D + (s'/s) v): in the coordinates x = v/s and sigma = a/s the flow is dx/dsigma = D. Threads may share
/// it, and the bounds, integrators and oracles made of it.
struct Flow {
  Space space;
  std::shared_ptr<const Path> path;
  torch::TensorOptions options;   ///< type and device of v and t
  StateFunction endpoint;         ///< D [B, S]: differentiable in v if gradients are enabled
  StateFunction log_marginals{};  ///< log P(label | state) [B, S], exact where D is rounded; undefined if the model has
                                  ///< no logits (the velocity form)
  StateFunction velocity;         ///< F [B, S]: without gradients, fused if the kernels support it
  bool from_evidence = false;  ///< whether D = kappa (softmax(e + message) - 1/c); the derivative of a decided variable
                               ///< is then that of its own evidence, and states may hold what is known
  int64_t n_activations = 0;   ///< values that one row keeps inside the network, for the memory budget
  std::shared_ptr<const FewRows> few_rows{};  ///< how few rows may be evaluated at once; null: only whole blocks
};

/// The flow that a model has learned. Shares its weights and switches batch normalisation to running statistics.
Flow flow_of(const Model& model);

/// The exact flow of a known joint distribution, in float64 on the CPU.
Flow flow_of(const JointOracle& oracle);

/// The flow of p(x | evidence) for soft evidence [S] that is the same for every row: log-likelihoods of all labels.
Flow with_evidence(const Flow& flow, const torch::Tensor& soft);

/// Log-probabilities of labels given only what is known, log p(x_i | known): one evaluation of `ask`, which is
/// Flow::log_marginals or blocks of it, at t = 0, where the flow has no evidence. known [B] rows -> [B, S]; those of
/// variables that are not open are meaningless.
torch::Tensor marginals_given(const Flow& flow, const StateFunction& ask, const Known& known, int64_t n_rows);

}  // namespace segre
