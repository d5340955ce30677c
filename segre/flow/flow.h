#pragma once

#include <memory>

#include "segre/flow/field_function.h"
#include "segre/model/model.h"
#include "segre/oracle/joint_oracle.h"

namespace segre {

/// What samplers and likelihoods know of a flow dv/dt = F(v, t), be it learned or exact. The mean endpoint D says
/// everything (F = alpha D + (s'/s) v): in the coordinates x = v/s and sigma = a/s the flow is dx/dsigma = D.
struct Flow {
  Space space;
  std::shared_ptr<const Path> path;
  torch::TensorOptions options;  ///< type and device of v and t
  FieldFunction endpoint;        ///< D [B, S]: differentiable in v where gradients are on
  FieldFunction velocity;        ///< F [B, S]: without gradients, fused where the kernels serve
  bool from_evidence = false;  ///< whether D = kappa (softmax(e + message) - 1/c): the derivative of a decided variable
                               ///< is then that of its own evidence
  int64_t n_activations = 0;   ///< numbers that one row keeps inside the network, for the memory budget
};

/// The flow a model has learned. Shares its weights; batch normalisation is set to its running statistics.
Flow flow_of(const Model& model);

/// The exact flow of a known joint distribution, in float64 on the CPU.
Flow flow_of(const JointOracle& oracle);

}  // namespace segre
