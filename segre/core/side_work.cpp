#include "segre/core/side_work.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <memory>

#include "segre/core/own_stream.h"
#endif

namespace segre {

#ifdef SEGRE_CUDA
namespace {

// This thread's on a device. Kept as long as the thread, since it takes part in a capture until that ends.
const c10::cuda::CUDAStream& side_stream(c10::DeviceIndex device) {
  thread_local std::map<c10::DeviceIndex, OwnStream> streams;
  return streams.try_emplace(device, torch::Device(torch::kCUDA, device), OwnStream::Priority::high)
      .first->second.get();
}

}  // namespace
#endif

std::function<void()> beside(torch::Device device, const std::function<void()>& work) {
#ifdef SEGRE_CUDA
  if (device.is_cuda()) {
    const auto current = at::cuda::getCurrentCUDAStream(device.index());
    const auto side = side_stream(current.device_index());
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
