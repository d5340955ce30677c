#pragma once  // internal

#include "segre/model/model.h"
#include "segre/path/path_sample.h"

namespace segre {

/// What training minimises.
enum class Objective {
  metric,  ///< sum_i Var_{W_i}(F_i - velocity_i) at W = softmax(v_t): the paper's Riemannian flow matching, any form
  cross_entropy,  ///< sum_i -log softmax(logits_i)[beta_i]: endpoint and evidence forms
};

/// The objective on a batch: sums over variables, per item, and the gradient of the weighted mean over items.
struct ObjectiveValue {
  torch::Tensor loss;                    ///< [B] per item, before weights
  torch::Tensor error;                   ///< [B] |u_beta - D|^2, the error in the information integrand
  std::vector<torch::Tensor> gradients;  ///< of mean(weight * loss), in the order of Field::parameters
};

/// Whether an objective needs PathSample::velocity.
WithVelocity needs_velocity(Objective objective);

/// Evaluates the objective, with gradients unless they are disabled (NoGradGuard). Has no side effects, so several
/// threads may work on parts of a batch at once. Cross entropy on float32 CPU tensors is one fused pass
/// (kernels::cross_entropy); LibTorch differentiates everything else.
ObjectiveValue evaluate(const Model& model, const PathSample& sample, Objective objective);

}  // namespace segre
