#pragma once  // internal

#include "segre/core/rng.h"
#include "segre/space/space.h"

// Fused loops of the training and sampling steps, float32, on the CPU and on CUDA. Each does in one pass over a row
// what its twin does in several tensor operations; tests/kernels compares them. Rows are [S] with the labels of
// variable i at offset(i) ... offset(i+1)-1, so mixed c_i need no special treatment. All tensors of a call are on one
// device. On CUDA nothing waits, and the bits of a row do not depend on the others.

namespace segre::kernels {

/// What is known of the variables besides v, see Known: contiguous tensors, or undefined. A variable whose mark is not
/// kUnknown has no evidence of its own and is not carried.
struct KnownRows {
  torch::Tensor marks{};  ///< [B, n] int64: Known::labels
  torch::Tensor soft{};   ///< [B, S] float32, added to the evidence
};

/// Whether the kernels support tensors like this one: float32 on the CPU or, in CUDA builds, on CUDA.
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

/// The numbers of a path that evidence_inputs reads.
struct EvidenceRatios {
  torch::Tensor scale;  ///< [B], [1] or [B, n]: a/s^2
  torch::Tensor ratio;  ///< likewise: a/s
  torch::Tensor last;   ///< [1]: a/s at the decision time, the certainty of a known label
};

/// What a network is shown in the evidence form; see FieldInput.
struct EvidenceInputs {
  torch::Tensor W;             ///< [B, S] what scaled_softmax gives
  torch::Tensor strength;      ///< [B, n] g = 2 (kappa_i a/s)^2, plus 2 soft_odds; with `last` if the label is known
  torch::Tensor standardised;  ///< [B, S] e / sqrt(1 + g); for a known label g/2 (e_label - 1/c) / sqrt(1 + g)
};

/// All of it in one pass, `standardised` only if wanted. soft_odds [B, n] is undefined without soft evidence.
/// Twin: Model::network_input, Model::strength, Model::standardised.  v [B, S]; kappa [n].
EvidenceInputs evidence_inputs(const torch::Tensor& v, const Space& space, const EvidenceRatios& ratios,
                               const torch::Tensor& kappa, const KnownRows& known, const torch::Tensor& soft_odds,
                               bool with_standardised);

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
