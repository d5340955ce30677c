#pragma once

#include <vector>

#include "segre/io/safetensors.h"

namespace segre {

struct AdamOptions {
  double beta1 = 0.9;    ///< decay of the mean gradient
  double beta2 = 0.999;  ///< decay of the mean squared gradient
  double eps = 1e-8;     ///< added to the root of the latter
  double ema = 0.999;    ///< decay of the averaged weights; 0: no average, the weights themselves
};

/// Adam (Kingma and Ba, 2015) with an exponential moving average of the weights, in one pass over each parameter:
///   m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  w -= lr (m / (1-b1^k)) / (sqrt(v / (1-b2^k)) + eps);  a = d a +
///   (1-d) w
/// where d = min(ema, k/(k+9)) forgets the first steps quickly. float32 on the CPU runs fused; anything else runs the
/// definition.
class Adam {
 public:
  /// `parameters` by name; the average starts at their present values.
  Adam(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, const AdamOptions& options);

  /// One step with the parameters' gradients, which it clears.
  void step(double lr);
  /// Steps taken.
  int64_t n_steps() const { return n_steps_; }
  /// The averaged weights by parameter name.
  NamedTensors average() const;
  /// Moments and averages, named "adam.m.*", "adam.v.*", "ema.*", and the step count; for checkpoints.
  NamedTensors state() const;
  /// Restores what state() gave.
  void load(const NamedTensors& state);

 private:
  struct Slot {
    std::string name;
    torch::Tensor weight, m, v, average;
  };
  std::vector<Slot> slots_;
  AdamOptions options_;
  int64_t n_steps_ = 0;
};

}  // namespace segre
