#pragma once

#include "segre/space/space.h"

namespace segre {

/// Tolerance between float32 and float64, relative to the largest component; replicator_test.cpp uses it.
inline constexpr double kReplicatorTol = 1e-6;

/// R_W[x] = W * (x - <W, x>) per variable: how a fitness x moves a point W. (As printed, the paper's formula lacks the
/// factor W in the second term; without it the result is not tangent.)
///
///   W   [*, S]  each variable a point of the open simplex
///   x   [*, S]  any real values; adding a constant per variable changes nothing
///   ->  [*, S]  sums to 0 per variable
torch::Tensor replicator(const Space& space, const torch::Tensor& W, const torch::Tensor& x);

/// <x, R_W x> = Var_W(x) per variable: the squared Fisher-Rao norm of R_W[x] at W, without division by W.
/// [*, S] -> [*, n].
torch::Tensor fisher_rao_squared(const Space& space, const torch::Tensor& W, const torch::Tensor& x);

/// The Fisher-Rao norm of R_W[x] over all variables: [*, S] -> [*].
torch::Tensor fisher_rao_norm(const Space& space, const torch::Tensor& W, const torch::Tensor& x);

}  // namespace segre
