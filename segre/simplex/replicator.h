#pragma once

#include "segre/space/space.h"

namespace segre {

/// float32 agrees with float64 to this, relative to the largest component; replicator_test.cpp uses this constant.
inline constexpr double kReplicatorTol = 1e-6;

/// R_W[x] = W * (x - <W, x>) per variable: how a fitness x moves a point W. (The paper's print omits the factor W
/// in the second term, without which the result is not tangent.)
///
///   W   [*, S]  each variable a point of the open simplex
///   x   [*, S]  any real values; adding a constant per variable changes nothing
///   ->  [*, S]  sums to 0 per variable
torch::Tensor replicator(const Space& space, const torch::Tensor& W, const torch::Tensor& x);

/// <x, R_W x> = Var_W(x) per variable: the squared Fisher-Rao norm of R_W[x] at W, with no division by W.
/// [*, S] -> [*, n].
torch::Tensor fisher_rao_squared(const Space& space, const torch::Tensor& W, const torch::Tensor& x);

/// The Fisher-Rao norm of R_W[x] over all variables: [*, S] -> [*].
torch::Tensor fisher_rao_norm(const Space& space, const torch::Tensor& W, const torch::Tensor& x);

}  // namespace segre
