#include "segre/core/side_work.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <memory>
#endif

namespace segre {

std::function<void()> beside(torch::Device device, const std::function<void()>& work) {
#ifdef SEGRE_CUDA
  if (device.is_cuda()) {
    const auto current = at::cuda::getCurrentCUDAStream(device.index());
    const auto side = at::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index());
    at::cuda::CUDAEvent begin;
    begin.record(current);
    begin.block(side);
    const auto end = std::make_shared<at::cuda::CUDAEvent>();
    {
      const c10::cuda::CUDAStreamGuard guard(side);
      work();
      end->record(side);
    }
    return [end, current] { end->block(current); };
  }
#else
  (void)device;
#endif
  work();
  return [] {};
}

}  // namespace segre
