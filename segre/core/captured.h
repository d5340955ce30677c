#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// A function of tensors that is called many times with inputs of the same shapes. On CUDA the first few calls run as
/// they are, which lets cuDNN choose its algorithms; then one is captured as a graph, and every later call copies its
/// inputs into the graph's memory and replays it. Elsewhere it is a plain call.
class Captured {
 public:
  using Tensors = std::vector<torch::Tensor>;
  using Body = std::function<Tensors(const Tensors& inputs)>;

  /// `body` must do the same work at every call and never wait for the device.
  Captured(Body body, torch::Device device);
  ~Captured();
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  /// What `body` gives. On CUDA the next call overwrites it. Calls from several threads at once are for the CPU alone.
  Tensors operator()(const Tensors& inputs) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace segre
