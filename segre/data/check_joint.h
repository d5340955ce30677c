#pragma once

#include "segre/data/joint_table.h"

namespace segre {

/// How far the probabilities of a joint distribution may sum from 1.
inline constexpr double kJointSumTolerance = 1e-6;

/// InputError unless a hand-made table is a valid JointTable: at least one labeling, labelings [R, n] int64 inside the
/// space, p [R] float64, finite and non-negative, summing to 1 within kJointSumTolerance. Does not check that the
/// labelings are all different.
void check_joint(const JointTable& table);

}  // namespace segre
