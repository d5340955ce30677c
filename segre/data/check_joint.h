#pragma once

#include "segre/data/joint_table.h"

namespace segre {

/// InputError unless a table that a program made by hand is what JointTable says: labelings [R, n] int64 inside the
/// space, one at least, and p [R] float64, each finite and not negative, summing to 1 within 1e-6. That the labelings
/// are all different is not looked at.
void check_joint(const JointTable& table);

}  // namespace segre
