#pragma once

#include "segre/core/torch.h"

// The elementwise half of a dense layer with ReLU, float32 on the CPU, each in one pass over the activations. The
// matrix products are LibTorch's.

namespace segre::kernels {

/// In place: x = relu(x + shift), or without the relu. shift is [H], or [B, H]. Twin: add_, relu_.
void shift_relu_(const torch::Tensor& x, const torch::Tensor& shift, bool relu);

/// Gradient of a ReLU layer with respect to what went into the relu, and its sum over the batch.
struct ReluGradient {
  torch::Tensor gradient;  ///< [B, H]  grad where out > 0, else 0
  torch::Tensor sum;       ///< [H]     over the batch
};

/// Without `relu` the gradient is `grad` itself. The sum runs over blocks of rows of fixed size, so its bits do not
/// depend on the number of threads. Twin: threshold_backward, sum.
ReluGradient relu_gradient(const torch::Tensor& grad, const torch::Tensor& out, bool relu);

}  // namespace segre::kernels
