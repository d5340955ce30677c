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

// Lifting maps between tangent vectors and points of the open simplex. W, p, q are points (positive, summing to 1 per
// variable), u, v tangent vectors; all [*, S]. The state of every flow is v, never W: W = lift(v) is lossless only
// while no component underflows, whereas v stays exact.

/// exp at the barycentre: softmax(v) per variable. Any v; adding a constant per variable changes nothing.
torch::Tensor lift(const Space& space, const torch::Tensor& v);

/// log of lift(v), finite even if lift(v) underflows.
torch::Tensor log_lift(const Space& space, const torch::Tensor& v);

/// Inverse of lift: Pi0 log W.
torch::Tensor inverse_lift(const Space& space, const torch::Tensor& W);

/// exp_p(u) = p e^u / <p, e^u>.
torch::Tensor lift_at(const Space& space, const torch::Tensor& p, const torch::Tensor& u);

/// exp_p^{-1}(q) = Pi0 (log q - log p).
torch::Tensor inverse_lift_at(const Space& space, const torch::Tensor& p, const torch::Tensor& q);

/// Exp_p(v) = p e^{v/p} / <p, e^{v/p}>, the exponential map of the e-connection (the paper prints p/v in the
/// denominator). exp_p = Exp_p after R_p.
torch::Tensor e_exponential(const Space& space, const torch::Tensor& p, const torch::Tensor& v);

/// The e-geodesic exp_p(t exp_p^{-1}(q)): p at t = 0, q at t = 1; a straight line in tangent coordinates.
torch::Tensor e_geodesic(const Space& space, const torch::Tensor& p, const torch::Tensor& q, double t);

/// Entropy -sum_j W_j log W_j of each variable in nats, W = lift(v): [*, S] -> [*, n].
torch::Tensor entropy(const Space& space, const torch::Tensor& v);

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

// The Segre embedding of factorising distributions into all joint distributions of a small space.
// Joint tables are [*, N], N = prod_i c_i, in the order of enumerate_labelings (last variable fastest).

/// log T(W)_alpha = sum_i log W_{i, alpha_i} at W = lift(v): [*, S] -> [*, N].
torch::Tensor log_segre_map(const Space& space, const torch::Tensor& v);

/// log T(W)_alpha for given labelings: v [B, S], labels [B, n] -> [B].
torch::Tensor log_segre_at(const Space& space, const torch::Tensor& v, const torch::Tensor& labels);

/// The marginals (M p)_{i,j} = sum of p_alpha over alpha_i = j: [*, N] -> [*, S]. M(T(W)) = W.
torch::Tensor marginalise(const Space& space, const torch::Tensor& p);

/// -sum_alpha p_alpha log p_alpha in nats, 0 log 0 = 0: [*, N] -> [*]. Maximal at T(W) among all p with marginals W.
torch::Tensor joint_entropy(const torch::Tensor& p);

}  // namespace segre
