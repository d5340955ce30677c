#pragma once

#include "segre/core/torch.h"

namespace segre {

/// What follows the affine map of a dense layer.
enum class Activation { none, relu };

/// activation(x weight^T + shift), differentiable in weight, shift and x.
///
///   x [B, in], weight [out, in], shift [out] or [B, out]  ->  [B, out]
///
/// float32 on the CPU fuses shift, activation, its gradient and the gradient's sum around the matrix products
/// (kernels/dense_kernels.h); anything else is plain LibTorch.
torch::Tensor dense(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& shift,
                    Activation activation);

}  // namespace segre
