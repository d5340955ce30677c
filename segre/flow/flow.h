#pragma once

#include <memory>

#include "segre/flow/field_function.h"
#include "segre/model/model.h"
#include "segre/oracle/joint_oracle.h"

namespace segre {

/// What samplers and likelihoods know about a flow dv/dt = F(v, t), learned or exact. The mean endpoint D determines it
/// (F = alpha D + (s'/s) v): in the coordinates x = v/s and sigma = a/s the flow is dx/dsigma = D.
struct Flow {
  Space space;
  std::shared_ptr<const Path> path;
  torch::TensorOptions options;  ///< type and device of v and t
  FieldFunction endpoint;        ///< D [B, S]: differentiable in v if gradients are enabled
  FieldFunction velocity;        ///< F [B, S]: without gradients, fused if the kernels support it
  bool from_evidence = false;  ///< whether D = kappa (softmax(e + message) - 1/c); the derivative of a decided variable
                               ///< is then that of its own evidence
  int64_t n_activations = 0;   ///< values that one row keeps inside the network, for the memory budget
};

/// The flow that a model has learned. Shares its weights and switches batch normalisation to running statistics.
Flow flow_of(const Model& model);

/// The exact flow of a known joint distribution, in float64 on the CPU.
Flow flow_of(const JointOracle& oracle);

}  // namespace segre
