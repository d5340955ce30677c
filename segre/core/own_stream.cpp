#ifdef SEGRE_CUDA
#include "segre/core/own_stream.h"

#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "segre/core/device.h"

namespace segre {
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

}  // namespace

OwnStream::OwnStream(torch::Device device, Priority priority) : priority_(priority), stream_(take(device, priority)) {}

OwnStream::~OwnStream() {
  FreeStreams& free = FreeStreams::get();
  const std::lock_guard lock(free.mutex);
  free.of[{stream_.device_index(), priority_}].push_back(stream_);
}

}  // namespace segre
#endif
