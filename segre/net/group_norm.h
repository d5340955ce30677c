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
