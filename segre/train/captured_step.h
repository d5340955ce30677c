#pragma once

#include <functional>
#include <memory>

#include "segre/core/torch.h"

namespace segre {

/// What a training step takes from the host. Everything else it works out where the parameters are.
struct StepInputs {
  torch::Tensor rows;      ///< [B] int64: rows of the dataset on the device; undefined where labels come themselves
  torch::Tensor labels;    ///< [B, n] labels; undefined where rows are given
  torch::Tensor u;         ///< [B] float32, rising on [0, 1): where the law of t is asked
  torch::Tensor counters;  ///< [2] int64: number of the first noise, place of the loss in its ring
  torch::Tensor numbers;   ///< [9] float32: kernels::adam_numbers
};

/// Runs a step on CUDA many times: the first few as they are, which lets cuDNN choose its algorithms, then captured
/// once as a CUDA graph and replayed. Inputs travel through pinned memory, so the host prepares the next step while the
/// device runs this one and nothing waits, until kAhead steps are under way.
class CapturedStep {
 public:
  using Body = std::function<void(const StepInputs&)>;
  /// `body` must do the same work on the same memory at every call and never wait for the device.
  CapturedStep(Body body, torch::Device device);
  ~CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  /// Starts a step with inputs on the CPU. Shapes must not change.
  void operator()(const StepInputs& host);
  /// Waits for all steps started and for anything else the device was given.
  void synchronize();

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace segre
