#pragma once

#include "segre/core/torch.h"

namespace segre {

/// A density of times on [0, t1], constant on equal bins: where along the path to look.
class TimeDensity {
 public:
  /// Uniform on [0, t1].
  explicit TimeDensity(double t1);
  /// In proportion to `weights` [bins] >= 0, of which one is positive, but for a tenth that stays uniform.
  TimeDensity(double t1, const torch::Tensor& weights);

  double t1() const { return t1_; }
  /// The same density cut at, or continued uniformly thinly to, another end.
  TimeDensity up_to(double t1) const;

  struct Draw {
    torch::Tensor t;        ///< like u
    torch::Tensor density;  ///< there
  };
  /// The times where the distribution function has the values u (any shape), float64.
  Draw at(const torch::Tensor& u) const;

 private:
  double t1_;
  torch::Tensor shares_;  // [bins] float64, summing to 1
};

/// Part of a learned density that stays uniform: no time starves, weights stay bounded.
inline constexpr double kUniformShare = 0.1;

/// Where the distribution function of `shares` [bins] on equal bins of [0, 1] has the values u: which bin, and how far
/// into it.
struct BinPosition {
  torch::Tensor bin;     ///< like u, int64
  torch::Tensor within;  ///< like u, float64 in [0, 1]
};
BinPosition invert_bins(const torch::Tensor& shares, const torch::Tensor& u);

}  // namespace segre
