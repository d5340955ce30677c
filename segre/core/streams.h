#pragma once  // internal

#ifdef SEGRE_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

#include <functional>

#include "segre/core/torch.h"

namespace segre {

#ifdef SEGRE_CUDA
/// A CUDA stream that nothing else uses while this object lives; then it serves the next one. LibTorch hands out its 32
/// streams in turns, so two threads would sooner or later share one, and what the second does while the first captures
/// would become part of the first one's graph.
class OwnStream {
 public:
  enum class Priority { normal, high };
  explicit OwnStream(torch::Device device, Priority priority = Priority::normal);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  const c10::cuda::CUDAStream& get() const { return stream_; }

 private:
  Priority priority_;
  c10::cuda::CUDAStream stream_;
};
#endif

/// Runs `work` in parallel with what follows: on another stream of the CUDA device, after what the current stream was given so
/// far. Returns a function that makes the current stream wait for it; tensors that `work` uses must live until then.
/// Can be captured in a CUDA graph. On the CPU, runs it at once.
std::function<void()> beside(torch::Device device, const std::function<void()>& work);

}  // namespace segre
