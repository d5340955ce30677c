#pragma once  // internal

#include "segre/path/path.h"
#include "segre/path/state.h"

namespace segre {

/// How a bound on log p_alpha draws its states: v ~ rho, close to where the flow carries labeling alpha.
enum class ProposalKind {
  path,  ///< rho = N(a u_alpha, s^2 1), the path itself, with the matched readout: no gap for an exact flow
  ball,  ///< the paper's: per variable a normal truncated to the ball around the corner where argmax gives alpha
};

/// States drawn for labelings, and what their weights need besides the flow's density.
struct ProposalDraw {
  torch::Tensor v;          ///< [R, S]
  torch::Tensor log_ratio;  ///< [R] float64: log P(alpha | v) - log rho(v), P the probability that v is read as alpha
};

/// v ~ N(a u_alpha, s^2 1) at t1 for noise u_0 [R, S], standard normal on T0, and corners u_alpha [R, S]; 0 for
/// variables that the flow does not carry, whose constant in log rho cancels that of the flow's density.
ProposalDraw draw_from_path(const Space& space, const Path& path, const torch::Tensor& labels,
                            const torch::Tensor& noise, double t1, const Known& known = {});

/// The truncated normals of the paper: centre u_alpha, radius kappa/sqrt(2), with `mass_each` of each variable's normal
/// inside its ball. Directions come from noise [R, S], radii from uniform numbers
/// [R, n].
ProposalDraw draw_from_balls(const Space& space, const Path& path, const torch::Tensor& labels,
                             const torch::Tensor& noise, const torch::Tensor& uniform, double mass_each);

/// The x with P(|X|^2 <= x) = probability (any shape, float64) for a standard normal X in `dims` dimensions.
torch::Tensor chi_square_quantile(const torch::Tensor& probability, int64_t dims);

}  // namespace segre
