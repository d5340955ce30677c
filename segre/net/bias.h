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
