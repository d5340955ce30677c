#pragma once

#include "segre/space/space.h"

// The tangent space T0 of the simplex, {v : sum_j v_j = 0} per variable, and coordinates in it.
// All tensors are [*, S], S = sum_i c_i (see Space); float32 or float64, CPU or CUDA.

namespace segre {

/// Pi0 x = x - mean_j(x) per variable: the orthogonal projection onto T0.
torch::Tensor project(const Space& space, const torch::Tensor& x);

/// Q [c, c-1]: an orthonormal basis of T0 for one variable with c labels (Helmert's columns). Q^T Q = 1, Q Q^T = Pi0.
torch::Tensor tangent_basis(int64_t n_labels, torch::TensorOptions options);

/// |x|^2 over all coordinates: [*, S] -> [*].
torch::Tensor squared_norm(const torch::Tensor& x);

}  // namespace segre
