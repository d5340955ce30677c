#pragma once

#include "segre/core/torch.h"

// The pass that ends a residual block: the layer's output, its bias and the skip connection in one, and the sum over
// rows that is the bias' gradient.

namespace segre::kernels {

/// Whether the kernels serve x [M, C]: float32 on the CPU; float32 or bfloat16 on CUDA with at most 1024 channels,
/// where the build has CUDA.
bool bias_serves(const torch::Tensor& x);

/// h + skip + bias over rows, rounded once. h and skip [M, C] contiguous of one type (skip may be undefined), bias [C]
/// float32 -> [M, C] in h's type. Throws Error where shapes or types do not fit. Twin: add_bias_plain.
torch::Tensor add_bias(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias);

/// The sum over the rows of x [M, C] contiguous -> [C] float32. Added in a fixed order: the bits depend on neither
/// threads nor timing. Twin: sum.
torch::Tensor column_sum(const torch::Tensor& x);

/// h + skip + bias in differentiable tensor operations, for any device and type.
torch::Tensor add_bias_plain(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias);

}  // namespace segre::kernels
