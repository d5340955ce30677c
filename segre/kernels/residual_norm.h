#pragma once  // internal

#include "segre/core/rng.h"

// The passes between the matrix products of a transformer, each in one reading of its input.

namespace segre::kernels {

/// What dropout drops from rows [M, C]: number c of row r is dropped if random number (first_row + r) C + c is below
/// `share`; the others are scaled by 1 / (1 - share). The same on every device and for every batch.
struct Dropout {
  double share = 0.0;  ///< 0: nothing is dropped
  RandomStream random{};
  torch::Tensor first_row{};  ///< [1] int64 on the rows' device; may be undefined if nothing is dropped
};

/// Keeps the scale of a row of zeros finite.
inline constexpr double kNormEpsilon = 1e-6;

/// Whether the kernels support rows [M, C]: float32 or bfloat16 on the CPU or, in CUDA builds, on CUDA with a multiple
/// of 8 channels, at most 2048.
bool rows_serve(const torch::Tensor& x);

/// sum = x + dropout(h), y = gain sum / |sum| with the root mean square as |.|. Contiguous x and h [M, C] (h may be
/// undefined), gain [C] float32. Twin: residual_norm_plain.
struct ResidualNorm {
  torch::Tensor sum;    ///< [M, C]; x itself without h
  torch::Tensor y;      ///< [M, C]
  torch::Tensor scale;  ///< [M] float32: 1 / |sum|
  torch::Tensor kept;   ///< [M, C/8] uint8: which numbers of h were kept, a bit each; CUDA with dropout only
};
ResidualNorm residual_norm(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& gain,
                           const Dropout& dropout);

/// Gradients of residual_norm given those of its sum (undefined: none) and y.
struct ResidualNormGradients {
  torch::Tensor x;     ///< [M, C]
  torch::Tensor h;     ///< [M, C]; undefined without h
  torch::Tensor gain;  ///< [C] float32
};
ResidualNormGradients residual_norm_gradients(const torch::Tensor& grad_sum, const torch::Tensor& grad_y,
                                              const ResidualNorm& forward, const torch::Tensor& gain, bool has_h,
                                              const Dropout& dropout);

/// {sum, y} in differentiable tensor operations, for any device and type.
std::pair<torch::Tensor, torch::Tensor> residual_norm_plain(const torch::Tensor& x, const torch::Tensor& h,
                                                            const torch::Tensor& gain, const Dropout& dropout);

/// Whether the kernels support u [M, 2 F]: float32 or bfloat16 on the CPU or, in CUDA builds, on CUDA with F a multiple
/// of 8.
bool gate_serves(const torch::Tensor& u);

/// silu(a) b for u = [a, b], contiguous [M, 2 F] -> [M, F]. Twin: gated_plain.
torch::Tensor gated(const torch::Tensor& u);
/// Its gradient with respect to u: [M, 2 F].
torch::Tensor gated_gradient(const torch::Tensor& grad, const torch::Tensor& u);
/// The same in differentiable tensor operations.
torch::Tensor gated_plain(const torch::Tensor& u);

}  // namespace segre::kernels

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
