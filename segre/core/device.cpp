#include "segre/core/device.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <charconv>

#ifdef SEGRE_CUDA
#include <torch/cuda.h>
#endif

#include "segre/core/error.h"

namespace segre {

torch::Device parse_device(const std::string& name, const std::string& what) {
  if (name == "cpu") return torch::kCPU;
  constexpr size_t kPrefix = 5;  // "cuda:"
  int index = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = name.starts_with("cuda:") ? std::from_chars(name.data() + kPrefix, end, index)
                                                : std::from_chars_result{end, std::errc::invalid_argument};
  const bool is_numbered = parsed.ec == std::errc() && parsed.ptr == end && index >= 0;
  if (name != "cuda" && !is_numbered) fail_input(what, " ", name, ": expected cpu, cuda or cuda:N");
#ifdef SEGRE_CUDA
  if (!torch::cuda::is_available()) fail_input(what, " ", name, ": no usable NVIDIA GPU was found; see 'segre doctor'");
  if (index >= static_cast<int>(torch::cuda::device_count()))
    fail_input(what, " ", name, ": this machine has ", static_cast<int>(torch::cuda::device_count()),
               " GPUs, counted from 0");
  return numbered(torch::Device(name));
#else
  fail_input(what, " ", name, ": this build has no CUDA; rebuild with 'make build CUDA=1'");
#endif
}

torch::Device numbered(torch::Device device) {
  if (!device.is_cuda() || device.has_index()) return device;
  return c10::impl::getDeviceGuardImpl(device.type())->getDevice();
}

}  // namespace segre
