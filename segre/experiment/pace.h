#pragma once

#include <algorithm>

#include "segre/experiment/experiment.h"

namespace segre {

/// How long training steps take on a device: seconds = step + batch * item.
struct Pace {
  double step = 0.0;
  double item = 0.0;

  double seconds(int64_t batch) const { return step + static_cast<double>(batch) * item; }
  /// How many steps fit.
  int64_t steps_within(double time, int64_t batch) const {
    return static_cast<int64_t>(std::clamp(time / std::max(1e-9, seconds(batch)), 0.0, 1e12));
  }
};

/// How long to measure it under a time limit: a small part of it, and long enough to tell items from overhead.
inline double probe_seconds(double limit) { return std::clamp(0.02 * limit, 0.25, 1.0); }

/// Measures it with a few steps on throw-away weights, in about `patience` seconds (at least two steps). Items are
/// taken from the source as training would.
Pace measure_pace(const Experiment& experiment, const DataSource& source, torch::Device device, double patience,
                  const CustomField& custom = {});

}  // namespace segre
