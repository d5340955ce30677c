#pragma once  // internal

#include "segre/core/torch.h"

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
