#pragma once

#include "segre/core/torch.h"

namespace segre {

/// h + skip + bias over rows, differentiable: the end of a residual block in one pass.
///
///   h and skip [M, C] (skip may be undefined), bias [C]  ->  [M, C] in h's type
///
/// The gradient goes on to h and skip as it came, the same tensor; the bias receives its sum over rows. Runs fused
/// where kernels::bias_serves(h), with the bias in float32; anything else is plain LibTorch.
torch::Tensor add_bias(const torch::Tensor& h, const torch::Tensor& skip, const torch::Tensor& bias);

}  // namespace segre
