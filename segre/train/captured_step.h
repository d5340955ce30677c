#pragma once  // internal

#include <functional>
#include <memory>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// Inputs of a training step from the host. Everything else is computed on the device.
struct StepInputs {
  torch::Tensor rows;      ///< [B] int64: rows of the dataset on the device; undefined if labels are given
  torch::Tensor labels;    ///< [B, n] labels; undefined if rows are given
  torch::Tensor u;         ///< [B] float32, increasing in [0, 1): quantiles of the law of t
  torch::Tensor evidence;  ///< [B, numbers] float32: what the items are shown, see EvidenceLaw; undefined: nothing
  torch::Tensor counters;  ///< [4] int64: position of the first noise, slot of the loss in its ring, the first
                           ///< cell, the first item
  torch::Tensor numbers;   ///< [9] float32: kernels::adam_numbers
};

/// Runs a step on CUDA many times: normally the first few times, which lets cuDNN choose its algorithms, then captured
/// once as a CUDA graph, or several, and replayed. Inputs go through pinned memory, so the host prepares the next steps
/// while the device runs this one, and waits only when kAhead steps are in flight.
class CapturedStep {
 public:
  /// A part of a step that is captured as one graph. `work` must do the same on the same memory on every call and never
  /// wait for the device; `then`, called after it, may.
  struct Stage {
    std::function<void(const StepInputs&)> work;
    std::function<void()> then{};
  };
  /// A step is its stages in order.
  CapturedStep(std::vector<Stage> stages, torch::Device device);
  ~CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  /// Starts a step with inputs on the CPU. Shapes must not change.
  void operator()(const StepInputs& host);
  /// Waits for all steps, and for what the calling thread's current stream of their device has been given.
  void synchronize();

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace segre
