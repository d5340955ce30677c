#pragma once  // internal

#include "segre/core/torch.h"

namespace segre {

/// The activation after a normalisation.
enum class NormActivation { none, silu };

/// Group normalisation of channels-last images, differentiable in all its tensors:
///   activation(gamma (x + shift - mean) / sqrt(variance + 1e-5) + beta),  mean and variance per item and group.
///
///   x [N, P, C], gamma and beta [C], shift [N, C] or undefined  ->  [N, P, C] in x's type
///
/// P counts pixels: an image [N, C, H, W] stored channels-last is such an x without a copy. If
/// kernels::group_norm_serves(x), forward and backward are fused, with parameters in float32; otherwise plain LibTorch.
torch::Tensor group_norm(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta,
                         const torch::Tensor& shift, int64_t groups, NormActivation activation);

}  // namespace segre

// The same fused with its neighbours in a residual block, in one pass each way:
//
//   y = act(gamma (x + shift - mean) rstd + beta),   act = SiLU or nothing
//
// mean and rstd = 1/sqrt(variance + eps) are per item and group of channels. `shift` is what the previous layer leaves
// to be added: its bias and the time embedding.
namespace segre::kernels {

inline constexpr double kGroupNormEps = 1e-5;

struct GroupNormForward {
  torch::Tensor y;     ///< [N, P, C]  in x's type
  torch::Tensor mean;  ///< [N, G]     float32, of x + shift
  torch::Tensor rstd;  ///< [N, G]     float32
};

struct GroupNormBackward {
  torch::Tensor dx;      ///< [N, P, C]  in x's type
  torch::Tensor dgamma;  ///< [C]        float32
  torch::Tensor dbeta;   ///< [C]        float32
  torch::Tensor dshift;  ///< [N, C]     float32; undefined without shift
};

/// Whether the fused kernels support this x [N, P, C]: float32 on the CPU or, in CUDA builds, float32 or bfloat16 on
/// CUDA with at most 1024 channels. Otherwise use group_norm_plain.
bool group_norm_serves(const torch::Tensor& x);

/// The fused forward pass.
///   x [N, P, C] contiguous; gamma, beta [C] float32; shift [N, C] float32 or undefined; groups divides C.
/// Statistics and sums are float32 or better and added in a fixed order: the bits depend on neither threads nor timing.
/// Throws Error if shapes or types do not match. Twin: group_norm_plain.
GroupNormForward group_norm_forward(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta,
                                    const torch::Tensor& shift, int64_t groups, bool silu, double eps = kGroupNormEps);

/// Its gradient at dy [N, P, C]; mean and rstd come from the forward pass, everything else is computed from x.
GroupNormBackward group_norm_backward(const torch::Tensor& dy, const torch::Tensor& x, const torch::Tensor& gamma,
                                      const torch::Tensor& beta, const torch::Tensor& shift, const torch::Tensor& mean,
                                      const torch::Tensor& rstd, bool silu);

/// y in differentiable tensor operations, for any device and type (bfloat16 is computed in float32).
torch::Tensor group_norm_plain(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta,
                               const torch::Tensor& shift, int64_t groups, bool silu, double eps = kGroupNormEps);

}  // namespace segre::kernels
