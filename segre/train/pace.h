#pragma once

#include <algorithm>
#include <cstdint>

namespace segre {

/// Duration of training steps on a device: seconds = step + batch * item.
struct Pace {
  double step = 0.0;
  double item = 0.0;

  double seconds(int64_t batch) const { return step + static_cast<double>(batch) * item; }
  /// Number of steps that fit into `time`.
  int64_t steps_within(double time, int64_t batch) const {
    return static_cast<int64_t>(std::clamp(time / std::max(1e-9, seconds(batch)), 0.0, 1e12));
  }
};

}  // namespace segre
