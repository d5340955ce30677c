#pragma once  // internal

#include "segre/data/joint_table.h"

// The paper's three toy distributions (its Figures 1 and 5) as exact joint tables. The paper gives numbers for the
// first but only pictures of the other two, so their parameters are our own.

namespace segre {

/// Labels per variable of the mixture and the pinwheel.
inline constexpr int64_t kToyGrid = 91;

/// Two binary variables, p = (45, 5, 5, 45)/100: strongly dependent, far from any factorising distribution.
JointTable coupled_binary();

/// Eight Gaussians on a ring, 91 x 91.
JointTable gaussian_mixture();

/// Five curved blades, 91 x 91. Each is a Gaussian, turned by an angle that depends only on the radius. This preserves
/// areas, so the density has a closed form.
JointTable pinwheel();

}  // namespace segre
