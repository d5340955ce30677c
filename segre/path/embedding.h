#pragma once

#include "segre/space/space.h"

// The Segre embedding of factorising distributions into all joint distributions of a small space.
// Joint tables are [*, N], N = prod_i c_i, in the order of enumerate_labelings (last variable fastest).

namespace segre {

/// log T(W)_alpha = sum_i log W_{i, alpha_i} at W = lift(v): [*, S] -> [*, N].
torch::Tensor log_segre_map(const Space& space, const torch::Tensor& v);

/// log T(W)_alpha for given labelings: v [B, S], labels [B, n] -> [B].
torch::Tensor log_segre_at(const Space& space, const torch::Tensor& v, const torch::Tensor& labels);

/// The marginals (M p)_{i,j} = sum of p_alpha over alpha_i = j: [*, N] -> [*, S]. M(T(W)) = W.
torch::Tensor marginalise(const Space& space, const torch::Tensor& p);

/// -sum_alpha p_alpha log p_alpha in nats, 0 log 0 = 0: [*, N] -> [*]. Maximal at T(W) among all p with marginals W.
torch::Tensor joint_entropy(const torch::Tensor& p);

}  // namespace segre
