#pragma once  // internal

#include <functional>
#include <memory>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// A function of tensors that is called many times with inputs of the same shapes. On CUDA the first few calls run
/// normally, which lets cuDNN choose its algorithms; the next is captured as a graph, and every later call copies its
/// inputs into the graph's memory and replays it. Elsewhere it is a plain call.
class Captured {
 public:
  using Tensors = std::vector<torch::Tensor>;
  using Body = std::function<Tensors(const Tensors& inputs)>;

  /// `body` must do the same work on every call and never wait for the device.
  Captured(Body body, torch::Device device);
  ~Captured();
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  /// The result of `body`. On CUDA the next call of the same thread overwrites it. Several threads may call at once:
  /// each has a graph of its own, kept as long as this object.
  Tensors operator()(const Tensors& inputs) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace segre
