#pragma once  // internal

#include "segre/kernels/residual_norm.h"

namespace segre {

/// The stream of a residual network after adding a branch, and its normalised copy.
struct Residual {
  torch::Tensor sum;     ///< x + dropout(h)
  torch::Tensor normal;  ///< gain sum / root mean square of sum
};

/// Adds a branch to the residual stream and normalises the rows, differentiable in x, h and gain.
///
///   x and h [*, C] (h may be undefined), gain [C]  ->  [*, C] each
///
/// Fused if kernels::rows_serve, otherwise plain LibTorch.
Residual add_norm(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain,
                  const kernels::Dropout& dropout);

/// silu(a) b for u = [a, b]: [*, 2 F] -> [*, F], differentiable; fused likewise.
torch::Tensor gate(const torch::Tensor& u);

}  // namespace segre
