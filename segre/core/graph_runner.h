#pragma once  // internal

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAGraph.h>

#include <functional>
#include <memory>
#include <thread>

#include "segre/core/streams.h"
#include "segre/core/torch.h"

namespace segre {

/// Runs the same work repeatedly on its own CUDA stream: normally the first few times, which lets cuDNN choose its
/// algorithms, then captured once as a graph and replayed. The common part of Captured and CapturedStep, which bring
/// the inputs. One thread at a time may call; other threads may do what they like meanwhile, except wait for the whole
/// device while this one captures, which CUDA forbids.
class GraphRunner {
 public:
  using Priority = OwnStream::Priority;
  explicit GraphRunner(torch::Device device, Priority priority = Priority::normal);
  /// Waits, since the graph's memory may be reused only after its last replay.
  ~GraphRunner();
  GraphRunner(const GraphRunner&) = delete;
  GraphRunner& operator=(const GraphRunner&) = delete;

  const c10::cuda::CUDAStream& stream() const { return stream_.get(); }
  /// Whether the next run will be captured, if it is on the same thread as the last.
  bool captures_next() const { return n_runs_ == kWarmUp; }
  /// Whether runs now replay the graph.
  bool is_captured() const { return n_runs_ > kWarmUp; }
  /// Starts one run; stream() must be the current stream. `work` must do the same operations on the same memory every
  /// time and never wait for the device. Until the graph is captured, no other runner of the process calls its work.
  void run(const std::function<void()>& work);

 private:
  void capture(const std::function<void()>& work);
  void abandon_capture();

  static constexpr int64_t kWarmUp = 3;  // every convolution shape occurs in these runs
  OwnStream stream_;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
  std::thread::id thread_;  // of the last run that was no replay
  int64_t n_runs_ = 0;
};

}  // namespace segre
#endif
