#pragma once  // internal

#include <functional>

#include "segre/core/torch.h"

namespace segre {

/// Runs `work` in parallel with what follows: on another stream of the CUDA device, after what the current stream was
/// given so far. Returns a function that makes the current stream wait for it; tensors that `work` uses must live until
/// then. Can be captured in a CUDA graph. On the CPU, runs it at once.
std::function<void()> beside(torch::Device device, const std::function<void()>& work);

}  // namespace segre
