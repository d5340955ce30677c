#pragma once

#include <memory>
#include <string>

#include "segre/core/torch.h"

namespace segre {

/// Adds up tensors on the GPUs of several ranks. All of them make the same calls.
class DeviceSum {
 public:
  virtual ~DeviceSum() = default;
  /// "NCCL", or "Gloo" through the host's memory.
  virtual std::string name() const = 0;
  /// Whether the calls may be part of a CUDA graph; otherwise finish() waits for the device.
  virtual bool is_capturable() const = 0;
  /// Starts to add up x in place, after what the current stream has been given so far.
  virtual void start(const torch::Tensor& x) = 0;
  /// Lets the current stream wait for all sums that were started.
  virtual void finish() = 0;
};

}  // namespace segre
