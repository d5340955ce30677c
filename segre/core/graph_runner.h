#pragma once  // internal

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>

#include "segre/core/torch.h"

namespace segre {

/// Runs the same work repeatedly on its own CUDA stream: normally the first few times, which lets cuDNN choose its
/// algorithms, then captured once as a graph and replayed. The common part of Captured and CapturedStep, which bring
/// the inputs.
class GraphRunner {
 public:
  enum class Priority { normal, high };
  explicit GraphRunner(torch::Device device, Priority priority = Priority::normal);
  /// Waits, since the graph's memory may be reused only after its last replay.
  ~GraphRunner();
  GraphRunner(const GraphRunner&) = delete;
  GraphRunner& operator=(const GraphRunner&) = delete;

  const c10::cuda::CUDAStream& stream() const { return stream_; }
  /// Whether the next run will be captured.
  bool captures_next() const { return n_runs_ == kWarmUp; }
  /// Whether runs now replay the graph.
  bool is_captured() const { return n_runs_ > kWarmUp; }
  /// Starts one run; stream() must be the current stream. `work` must do the same operations on the same memory every
  /// time and never wait for the device.
  void run(const std::function<void()>& work);

 private:
  static constexpr int64_t kWarmUp = 3;  // every convolution shape occurs in these runs
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAGraph graph_;
  int64_t n_runs_ = 0;
};

}  // namespace segre
#endif
