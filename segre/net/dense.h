#pragma once  // internal

#include "segre/core/torch.h"

namespace segre {

/// The activation after the affine map of a dense layer.
enum class Activation { none, relu };

/// activation(x weight^T + shift), differentiable in weight, shift and x.
///
///   x [B, in], weight [out, in], shift [out] or [B, out]  ->  [B, out]
///
/// In float32 on the CPU, shift, activation, its gradient and the gradient's sum are fused around the matrix products
/// (kernels/dense_kernels.h); otherwise plain LibTorch.
torch::Tensor dense(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& shift,
                    Activation activation);

}  // namespace segre
