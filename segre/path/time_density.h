#pragma once

#include "segre/core/torch.h"

namespace segre {

/// A density of times on [0, t1], piecewise constant on equal bins.
class TimeDensity {
 public:
  /// Uniform on [0, t1].
  explicit TimeDensity(double t1);
  /// Proportional to `weights` [bins] >= 0, at least one of them positive, except for a tenth that stays uniform.
  TimeDensity(double t1, const torch::Tensor& weights);

  double t1() const { return t1_; }
  /// The same density, truncated at another end or extended to it with a small uniform density.
  TimeDensity up_to(double t1) const;

  struct Draw {
    torch::Tensor t;        ///< like u
    torch::Tensor density;  ///< at t
  };
  /// The times at which the distribution function has the values u (any shape), float64.
  Draw at(const torch::Tensor& u) const;

 private:
  double t1_;
  torch::Tensor shares_;  // [bins] float64, summing to 1
};

/// Share of a learned density that stays uniform, so that no time starves and weights stay bounded.
inline constexpr double kUniformShare = 0.1;

/// The position at which the distribution function of `shares` [bins] on equal bins of [0, 1] has the values u.
struct BinPosition {
  torch::Tensor bin;     ///< like u, int64
  torch::Tensor within;  ///< like u, float64 in [0, 1]
};
BinPosition invert_bins(const torch::Tensor& shares, const torch::Tensor& u);

}  // namespace segre
