#pragma once  // internal

#include <memory>
#include <optional>
#include <vector>

#include "segre/core/torch.h"
#include "segre/kernels/adam_kernel.h"

namespace segre {

class ParameterExchange;
class StateShares;

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
  /// `parameters` by name; the average starts at their current values. With `shares`, each rank keeps moments and
  /// averages of its own numbers alone and updates those: all ranks make the same calls. `weights` are the parameters'
  /// values in float32, where they are rounded copies of them already; empty: the parameters themselves.
  Adam(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, const AdamOptions& options,
       std::shared_ptr<StateShares> shares = nullptr, const std::vector<torch::Tensor>& weights = {});

  /// One step with the parameters' gradients, which it clears. Error, with nothing changed, if one is not finite. With
  /// an `exchange`, the one that shares out the state, ranks then give each other the parameters they have updated.
  void step(double lr, ParameterExchange* exchange = nullptr);
  /// The numbers of the next step at this learning rate, bias corrections included.
  kernels::AdamStep numbers(double lr) const;
  /// The first half of a step on a CUDA device, which can be captured: the squared norm of the `gradients`, of the own
  /// numbers if shared, into `norm` [1].
  void measure_on_device(const std::vector<torch::Tensor>& gradients, const torch::Tensor& norm) const;
  /// The second half. `norm` is the squared norm over all ranks, `numbers` is kernels::adam_numbers [9]; nothing
  /// happens if `go` [1] is 0, and a gradient that is not finite sets it to 0. The caller counts the step.
  void update_on_device(const std::vector<torch::Tensor>& gradients, const torch::Tensor& norm,
                        const torch::Tensor& numbers, const torch::Tensor& go) const;
  /// Counts a step that update_on_device took.
  void count_step() { ++n_steps_; }
  /// Steps taken.
  int64_t n_steps() const { return n_steps_; }
  /// The weights in float32 by parameter name, from the ranks that keep them.
  NamedTensors weights() const;
  /// The averaged weights by parameter name.
  NamedTensors average() const;
  /// Weights, moments, averages and the step count, by the names in state_names.h. Where they are shared out, rank 0
  /// has their values, the other ranks only their shapes.
  NamedTensors state() const;
  /// Restores what state() returned.
  void load(const NamedTensors& state);

 private:
  // All but the parameter are shaped like it or, if every rank keeps only its own numbers of the weights, are those,
  // [count].
  struct Slot {
    std::string name;
    torch::Tensor parameter;      // what the network computes with
    torch::Tensor weight;         // float32; shares the parameter's memory at full precision
    torch::Tensor m, v, average;  // float32; undefined if another rank keeps them
  };
  torch::Device device() const;
  bool keeps_numbers() const;
  torch::Tensor own_numbers(size_t k, const torch::Tensor& x) const;
  std::vector<kernels::AdamSegment> segments(const std::vector<torch::Tensor>& gradients) const;
  void take_layout_of_weights();
  double gradient_norm(ParameterExchange* exchange) const;
  static void update(Slot& slot, const kernels::AdamStep& step_numbers, double scale);
  void spread_parameters(ParameterExchange& exchange);
  std::vector<torch::Tensor> whole(torch::Tensor Slot::*part, const std::optional<torch::Device>& where) const;
  NamedTensors by_name(const std::vector<torch::Tensor>& tensors) const;

  std::vector<Slot> slots_;
  AdamOptions options_;
  std::shared_ptr<StateShares> shares_;
  int64_t n_steps_ = 0;
};

}  // namespace segre
