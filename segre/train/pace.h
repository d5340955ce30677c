#pragma once  // internal

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

/// How long a training will be.
struct TrainLength {
  int64_t steps = 0;     ///< in total, without a time limit
  int64_t expected = 0;  ///< steps still to come; under a time limit, an estimate
  int64_t most = 0;      ///< steps in total that a time limit may allow
  int64_t batch = 0;     ///< items per step
  Pace pace{};           ///< of the steps, measured under a time limit
  int64_t picture = 0;   ///< network evaluations per picture of samples; 0: none are drawn
};

}  // namespace segre
