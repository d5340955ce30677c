#pragma once

#include <vector>

#include "segre/io/safetensors.h"
#include "segre/kernels/adam_kernel.h"

namespace segre {

class ParameterExchange;

struct AdamOptions {
  double beta1 = 0.9;    ///< decay of the mean gradient
  double beta2 = 0.999;  ///< decay of the mean squared gradient
  double eps = 1e-8;     ///< added to the root of the latter
  double ema = 0.999;    ///< decay of the averaged weights; 0: no average, the weights themselves
  double clip = 0.0;     ///< maximum norm of all gradients together; larger ones are scaled down to it; 0: no limit
};

/// Adam (Kingma and Ba, 2015) with an exponential moving average of the weights, in one pass over each parameter:
///   m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  w -= lr (m / (1-b1^k)) / (sqrt(v / (1-b2^k)) + eps);  a = d a +
///   (1-d) w
/// where d = min(ema, k/(k+9)) forgets the first steps quickly. float32 on the CPU and everything on CUDA is fused; the
/// rest uses plain tensor operations. Weights are kept in float32; parameters of reduced precision
/// (Field::reduce_precision) are rounded copies of them.
class Adam {
 public:
  /// `parameters` by name; the average starts at their current values. With an `exchange`, each rank keeps moments and
  /// averages of its own parameters alone, updates those and gives them to the others: all ranks make the same calls.
  Adam(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, const AdamOptions& options,
       std::shared_ptr<ParameterExchange> exchange = nullptr);

  /// One step with the parameters' gradients, which it clears. Error, with nothing changed, if one is not finite.
  void step(double lr);
  /// The numbers of the next step at this learning rate, bias corrections included.
  kernels::AdamStep numbers(double lr) const;
  /// One step entirely on the CUDA device, so that it can be captured. `numbers` is kernels::adam_numbers [9]; nothing
  /// happens if `go` [1] is 0, and a gradient that is not finite sets it to 0. The caller counts the step.
  void step_on_device(const std::vector<torch::Tensor>& gradients, const torch::Tensor& numbers,
                      const torch::Tensor& go);
  /// Counts a step that step_on_device took.
  void count_step() { ++n_steps_; }
  /// Steps taken.
  int64_t n_steps() const { return n_steps_; }
  /// The weights in float32 by parameter name.
  NamedTensors weights() const;
  /// The averaged weights by parameter name.
  NamedTensors average() const;
  /// Weights, moments and averages, named "weights.*", "adam.m.*", "adam.v.*", "ema.*", and the step count. Where they
  /// are shared out, rank 0 has their values, the other ranks only their shapes.
  NamedTensors state() const;
  /// Restores what state() returned.
  void load(const NamedTensors& state);

 private:
  struct Slot {
    std::string name;
    torch::Tensor parameter;              // what the network computes with
    torch::Tensor weight, m, v, average;  // float32; weight shares the parameter's memory at full precision; the
                                          // others are undefined if another rank owns them
  };
  bool is_own(size_t k) const;
  void take_layout_of_weights();
  double gradient_norm() const;
  static void update(Slot& slot, const kernels::AdamStep& step_numbers, double scale);
  void spread_parameters();
  std::vector<torch::Tensor> whole(torch::Tensor Slot::*part) const;

  std::vector<Slot> slots_;
  AdamOptions options_;
  std::shared_ptr<ParameterExchange> exchange_;
  int64_t n_steps_ = 0;
};

}  // namespace segre
