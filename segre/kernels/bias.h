#pragma once  // internal

#include "segre/core/torch.h"

namespace segre {

/// h + skip + bias over rows, differentiable: the end of a residual block in one pass.
///
///   h and skip [M, C] (skip may be undefined), bias [C]  ->  [M, C] in h's type
///
/// The gradient passes unchanged to h and skip, as the same tensor; the bias receives its sum over rows. Runs fused if
/// kernels::bias_serves(h), with the bias in float32; otherwise plain LibTorch.
torch::Tensor add_bias(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias);

}  // namespace segre

// The pass that ends a residual block, which adds the layer's output, its bias and the skip connection at once, and the
// sum over rows that gives the bias gradient.
namespace segre::kernels {

/// Whether the kernels support x [M, C]: float32 on the CPU or, in CUDA builds, float32 or bfloat16 on CUDA with at
/// most 1024 channels.
bool bias_serves(const torch::Tensor& x);

/// h + skip + bias over rows, rounded once. h and skip [M, C] are contiguous and of one type (skip may be undefined),
/// bias is [C] float32 -> [M, C] in h's type. Throws Error if shapes or types do not match. Twin: add_bias_plain.
torch::Tensor add_bias(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias);

/// Sums the rows of a contiguous x [M, C] -> [C] float32, in a fixed order: the bits depend on neither threads nor
/// timing. Twin: sum.
torch::Tensor column_sum(const torch::Tensor& x);

/// h + skip + bias in differentiable tensor operations, for any device and type.
torch::Tensor add_bias_plain(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias);

}  // namespace segre::kernels
