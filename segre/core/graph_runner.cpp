#ifdef SEGRE_CUDA
#include "segre/core/graph_runner.h"

#include <c10/cuda/CUDAException.h>

namespace segre {

GraphRunner::GraphRunner(torch::Device device, Priority priority)
    : stream_(c10::cuda::getStreamFromPool(priority == Priority::high, device.index())) {}

GraphRunner::~GraphRunner() { C10_CUDA_CHECK_WARN(cudaStreamSynchronize(stream_.stream())); }

void GraphRunner::run(const std::function<void()>& work) {
  if (n_runs_ < kWarmUp) {
    work();
  } else {
    if (n_runs_ == kWarmUp) {
      stream_.synchronize();
      graph_.capture_begin();
      work();
      graph_.capture_end();
    }
    graph_.replay();
  }
  ++n_runs_;
}

}  // namespace segre
#endif
