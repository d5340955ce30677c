#pragma once  // internal

#include "segre/kernels/residual_norm.h"

// The loops of residual_norm.h on the CPU, for float32 and bfloat16.

namespace segre::kernels {

/// Fills `out`, whose tensors have their shapes and types.
void residual_norm_cpu(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain,
                       const Dropout& dropout, const ResidualNorm& out);

/// As residual_norm_gradients.
ResidualNormGradients residual_norm_gradients_cpu(const torch::Tensor& grad_sum, const torch::Tensor& grad_y,
                                                  const ResidualNorm& forward, const torch::Tensor& gain, bool has_h,
                                                  const Dropout& dropout);

/// Fills out [M, F] for u [M, 2 F].
void gated_cpu(const torch::Tensor& u, const torch::Tensor& out);

/// Fills out [M, 2 F] for grad [M, F] and u [M, 2 F].
void gated_gradient_cpu(const torch::Tensor& grad, const torch::Tensor& u, const torch::Tensor& out);

}  // namespace segre::kernels
