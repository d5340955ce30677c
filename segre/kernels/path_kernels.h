#pragma once  // internal

#include "segre/core/rng.h"
#include "segre/space/space.h"

// Fused CPU loops of the training and sampling steps, float32. Each does in one pass over a row what its twin does in
// several tensor operations; tests/kernels compares them. Rows are [S] with the labels of variable i at offset(i) ...
// offset(i+1)-1, so mixed c_i need no special treatment.

namespace segre::kernels {

/// What is known of the variables besides v, see Known: contiguous tensors, or undefined. A variable whose mark is not
/// kUnknown has no evidence of its own and is not carried.
struct KnownRows {
  torch::Tensor marks{};  ///< [B, n] int64: Known::labels
  torch::Tensor soft{};   ///< [B, S] float32, added to the evidence
};

/// Whether the kernels support tensors like this one: float32 on the CPU.
bool serves(const torch::Tensor& x);

/// In place: noise[b] = a[b] u_beta + s[b] Pi0 noise[b], with u_beta = kappa_i (e_beta_i - 1/c_i); 0 for variables that
/// are not carried.
/// Twin: project, corners.  noise [B, S]; labels [B, n] int64; a, s [B], or [B, n]: one per variable; kappa [n].
void gaussian_path_(const torch::Tensor& noise, const Space& space, const torch::Tensor& labels, const torch::Tensor& a,
                    const torch::Tensor& s, const torch::Tensor& kappa, const KnownRows& known = {});

/// softmax per variable of scale[b] * kappa_i * v + soft; a corner if the label is known.
/// Twin: lift(evidence_scale * v), with_corners.  v [B, S]; scale [B], [1] or [B, n]; kappa [n] -> [B, S].
torch::Tensor scaled_softmax(const torch::Tensor& v, const Space& space, const torch::Tensor& scale,
                             const torch::Tensor& kappa, const KnownRows& known = {});

/// Loss and gradient of the cross entropy at logits = message + scale[b] * kappa_i * v + soft, over the variables that
/// are carried; scale as in scaled_softmax.
struct CrossEntropy {
  torch::Tensor loss;      ///< [B]     sum_i -log softmax(logits_i)[beta_i]
  torch::Tensor error;     ///< [B]     |u_beta - D|^2 = sum_i kappa_i^2 |e_beta_i - softmax(logits_i)|^2
  torch::Tensor gradient;  ///< [B, S]  d(sum_b weight[b] loss[b]) / d message
};

/// Twin: log_lift and pick, differentiated. An empty `scale` adds nothing to the message.
CrossEntropy cross_entropy(const torch::Tensor& message, const torch::Tensor& v, const Space& space,
                           const torch::Tensor& scale, const torch::Tensor& kappa, const torch::Tensor& labels,
                           const torch::Tensor& weight, const KnownRows& known = {});

/// The velocity of the endpoint and evidence forms in one pass:
///   F = alpha D + pull v,  D = kappa_i (softmax(message + scale kappa_i v + soft) - 1/c_i); 0 if not carried.
/// Twin: lift, mean_corner, velocity_from_endpoint.
torch::Tensor endpoint_velocity(const torch::Tensor& message, const torch::Tensor& v, const Space& space, double scale,
                                double alpha, double pull, const torch::Tensor& kappa, const KnownRows& known = {});

}  // namespace segre::kernels
