#pragma once

#include "segre/space/space.h"

// Lifting maps between tangent vectors and points of the open simplex. W, p, q are points (positive, summing to 1 per
// variable), u, v tangent vectors; all [*, S]. The state of every flow is v, never W: W = lift(v) is lossless only
// while no component underflows, whereas v stays exact.

namespace segre {

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

}  // namespace segre
