#pragma once  // internal

#include <cstdint>
#include <span>

#include "segre/space/bins.h"

namespace segre {

/// An interval of bins, without the values that have labels of their own.
struct Interval {
  double low, high;
  bool has_high;
  std::span<const double> without;
  /// How many values it holds on a grid of this step.
  double count(double step) const;
};

/// Interval number k; it refers to the bins' values.
Interval interval_of(const Bins& bins, int64_t k);

/// Seconds in a unit of dates; 0 for numbers.
int64_t resolution_of(Bins::Unit unit);

/// Spacing of adjacent values; 0 if they can be arbitrarily close.
double step_of(const Bins& bins);

/// The value on this grid that is nearest to a number, within the range of the data.
double nearest_on_grid(const Bins& bins, double value);

/// How many values of a grid an interval may have: more than these a uniform number cannot distinguish.
inline constexpr double kMostSteps = 0x1p50;

}  // namespace segre
