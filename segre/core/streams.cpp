#include "segre/core/streams.h"

#ifdef SEGRE_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "segre/core/device.h"
#endif

namespace segre {

#ifdef SEGRE_CUDA
namespace {

// Streams that nobody uses at the moment.
struct FreeStreams {
  std::mutex mutex;
  std::map<std::pair<c10::DeviceIndex, OwnStream::Priority>, std::vector<c10::cuda::CUDAStream>> of;

  // Never destroyed: threads may still give streams back when the process ends.
  static FreeStreams& get() {
    static FreeStreams* const all = new FreeStreams;
    return *all;
  }
};

// In the range that LibTorch uses, and independent of the null stream, as its own are.
c10::cuda::CUDAStream create(c10::DeviceIndex device, OwnStream::Priority priority) {
  const c10::cuda::CUDAGuard guard(device);
  const auto [least, greatest] = c10::cuda::CUDAStream::priority_range();
  cudaStream_t stream = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                              priority == OwnStream::Priority::high ? greatest : least));
  return c10::cuda::getStreamFromExternal(stream, device);
}

c10::cuda::CUDAStream take(torch::Device device, OwnStream::Priority priority) {
  const auto index = numbered(device).index();
  {
    FreeStreams& free = FreeStreams::get();
    const std::lock_guard lock(free.mutex);
    if (auto& streams = free.of[{index, priority}]; !streams.empty()) {
      const auto stream = streams.back();
      streams.pop_back();
      return stream;
    }
  }
  return create(index, priority);
}

// This thread's on a device. Kept as long as the thread, since it takes part in a capture until that ends.
const c10::cuda::CUDAStream& side_stream(c10::DeviceIndex device) {
  thread_local std::map<c10::DeviceIndex, OwnStream> streams;
  return streams.try_emplace(device, torch::Device(torch::kCUDA, device), OwnStream::Priority::high)
      .first->second.get();
}

}  // namespace

OwnStream::OwnStream(torch::Device device, Priority priority) : priority_(priority), stream_(take(device, priority)) {}

OwnStream::~OwnStream() {
  FreeStreams& free = FreeStreams::get();
  const std::lock_guard lock(free.mutex);
  free.of[{stream_.device_index(), priority_}].push_back(stream_);
}
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
