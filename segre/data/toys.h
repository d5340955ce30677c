#pragma once

#include "segre/data/joint_table.h"

// The paper's three toy distributions (its Figures 1 and 5) as exact joint tables. The paper gives the numbers of the
// first and only pictures of the other two, whose parameters here are ours.

namespace segre {

/// Labels per variable of the two pictures.
inline constexpr int64_t kToyGrid = 91;

/// Two binary variables, p = (45, 5, 5, 45)/100: strongly dependent, far from any factorising distribution.
JointTable coupled_binary();

/// Eight Gaussians on a ring, 91 x 91.
JointTable gaussian_mixture();

/// Five curved blades, 91 x 91. A Gaussian blade is turned by an angle that depends on the radius alone, which keeps
/// areas, so the density has a closed form.
JointTable pinwheel();

}  // namespace segre
