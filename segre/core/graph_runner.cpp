#ifdef SEGRE_CUDA
#include "segre/core/graph_runner.h"

#include <c10/cuda/CUDAException.h>

#include <mutex>

namespace segre {
namespace {

// Held by the thread that runs some work directly or captures it: cuDNN's settings and the state of LibTorch's random
// generator belong to the whole process. Recursive, since a user's network may sample from another model.
std::recursive_mutex g_first_runs;

// Held while graphs are entered into the list of LibTorch's generator, or removed. A thread may end a graph with
// Python's lock held, for which a capture waits: it must not wait for the whole capture.
std::mutex g_graphs;

}  // namespace

GraphRunner::GraphRunner(torch::Device device, Priority priority)
    : stream_(device, priority), graph_(std::make_unique<at::cuda::CUDAGraph>()) {}

GraphRunner::~GraphRunner() {
  C10_CUDA_CHECK_WARN(cudaStreamSynchronize(stream().stream()));
  const std::lock_guard lock(g_graphs);
  graph_.reset();
}

// A thread has handles of cuBLAS and cuDNN of its own, which cannot be made during a capture: it begins anew.
void GraphRunner::run(const std::function<void()>& work) {
  if (is_captured()) return graph_->replay();
  const std::lock_guard turn(g_first_runs);
  if (thread_ != std::this_thread::get_id()) n_runs_ = 0;
  thread_ = std::this_thread::get_id();
  if (n_runs_ < kWarmUp) {
    work();
  } else {
    stream().synchronize();
    capture(work);
    graph_->replay();
  }
  ++n_runs_;
}

// In thread-local mode, other threads may allocate and wait for their streams meanwhile.
void GraphRunner::capture(const std::function<void()>& work) {
  {
    const std::lock_guard lock(g_graphs);
    graph_->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  }
  try {
    work();
    const std::lock_guard lock(g_graphs);
    graph_->capture_end();
  } catch (...) {
    abandon_capture();
    throw;
  }
}

// The stream and LibTorch's allocator, which all threads use, must not stay in a capture that failed.
void GraphRunner::abandon_capture() {
  const std::lock_guard lock(g_graphs);
  try {
    graph_->capture_end();
  } catch (const c10::Error&) {
    (void)graph_.release();  // the allocator keeps querying it for its memory
  }
  graph_ = std::make_unique<at::cuda::CUDAGraph>();
}

}  // namespace segre
#endif
