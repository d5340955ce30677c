#pragma once  // internal

#include "segre/core/torch.h"

namespace segre {

/// The activation after the affine map of a dense layer.
enum class Activation { none, relu };

/// activation(x weight^T + shift), differentiable in weight, shift and x.
///
///   x [B, in], weight [out, in], shift [out] or [B, out]  ->  [B, out]
///
/// In float32 on the CPU, shift, activation, its gradient and the gradient's sum are fused around the matrix products;
/// otherwise plain LibTorch.
torch::Tensor dense(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& shift,
                    Activation activation);

}  // namespace segre

// The elementwise part of a dense layer with ReLU, float32 on the CPU, each in one pass over the activations. LibTorch
// does the matrix products.
namespace segre::kernels {

/// In place: x = relu(x + shift), or x + shift without `relu`. shift is [H] or [B, H]. Twin: add_, relu_.
void shift_relu_(const torch::Tensor& x, const torch::Tensor& shift, bool relu);

/// Gradient of a ReLU layer with respect to the relu's input, and its sum over the batch.
struct ReluGradient {
  torch::Tensor gradient;  ///< [B, H]  grad where out > 0, else 0
  torch::Tensor sum;       ///< [H]     over the batch
};

/// Without `relu` the gradient is `grad` itself. The sum uses row blocks of fixed size, so its bits do not depend on
/// the number of threads. Twin: threshold_backward, sum.
ReluGradient relu_gradient(const torch::Tensor& grad, const torch::Tensor& out, bool relu);

}  // namespace segre::kernels
