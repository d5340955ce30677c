#pragma once

#include "segre/core/rng.h"
#include "segre/data/origin.h"
#include "segre/space/space.h"

namespace segre {

/// A known joint distribution: the labelings that can occur and their probabilities. Labelings not listed have
/// probability 0, so a table over a huge space stays as small as its support.
struct JointTable {
  Space space;
  torch::Tensor labelings;  ///< [R, n] int64, all different
  torch::Tensor p;          ///< [R] float64, positive, summing to 1
  Origin origin{};          ///< where the labelings were read
};

/// Builds a table from labelings [R, n] int64, all different, and their weights [R] of any type, such as counts: drops
/// zeros and divides by the sum. InputError if a labeling is outside the space, the numbers of weights and labelings
/// differ, a weight is negative or not finite, or none is positive.
JointTable make_joint_table(const Space& space, const torch::Tensor& labelings, const torch::Tensor& weights,
                            const Origin& origin = {});

/// Draws labelings first_item ... of the stream: [count, n] int64.
class JointSampler {
 public:
  /// InputError as check_joint.
  explicit JointSampler(const JointTable& table);
  torch::Tensor draw(const RandomStream& random, uint64_t first_item, int64_t count) const;

 private:
  torch::Tensor labelings_;         // [R, n]
  std::vector<double> cumulative_;  // inclusive sums of p
};

/// How far the probabilities of a joint distribution may sum from 1.
inline constexpr double kJointSumTolerance = 1e-6;

/// InputError unless a hand-made table is a valid JointTable: at least one labeling, labelings [R, n] int64 inside the
/// space, p [R] float64, finite and non-negative, summing to 1 within kJointSumTolerance. Does not check that the
/// labelings are all different.
void check_joint(const JointTable& table);

}  // namespace segre
