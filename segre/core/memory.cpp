#include "segre/core/memory.h"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <limits>
#include <sstream>

#include "segre/core/error.h"

#ifdef SEGRE_CUDA
#include <c10/cuda/CUDAGuard.h>
#endif

namespace segre {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

int64_t kernel_available() {
  std::ifstream in("/proc/meminfo");
  for (std::string key, unit; in >> key;) {
    int64_t kilobytes = 0;
    if (in >> kilobytes && key == "MemAvailable:") return kilobytes * 1024;
    std::getline(in, unit);
  }
  return kUnlimited;
}

int64_t number_in(const std::filesystem::path& path) {
  std::ifstream in(path);
  int64_t value = 0;
  return in >> value ? value : kUnlimited;  // "max", or no such file: no limit
}

// Bytes of cached files that were not used recently, part of memory.current.
int64_t reclaimable(const std::filesystem::path& stat) {
  std::ifstream in(stat);
  int64_t bytes = 0;
  for (std::string key; in >> key >> bytes;)
    if (key == "inactive_file") return std::max<int64_t>(0, bytes);
  return 0;
}

}  // namespace

int64_t cgroup_available(const std::filesystem::path& folder) {
  const int64_t limit = number_in(folder / "memory.max");
  const int64_t current = number_in(folder / "memory.current");
  if (limit == kUnlimited || current == kUnlimited) return kUnlimited;
  const int64_t used = std::max<int64_t>(0, current - reclaimable(folder / "memory.stat"));
  return std::max<int64_t>(0, limit - used);
}

int64_t available_memory(torch::Device device) {
#ifdef SEGRE_FUZZ
  return int64_t{1} << 20;  // so that every allocation sized by a file must be checked first
#endif
  if (device.is_cuda()) {
#ifdef SEGRE_CUDA
    const c10::cuda::CUDAGuard guard(device);
    size_t free = 0;
    size_t total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) return static_cast<int64_t>(free);
#endif
    return 0;
  }
  return std::min(kernel_available(), cgroup_available("/sys/fs/cgroup"));
}

void require_memory(double bytes, const std::string& what, torch::Device device) {
  const int64_t available = available_memory(device);
  if (bytes > static_cast<double>(available))
    fail_input(what, " needs ", format_bytes(static_cast<int64_t>(std::min(bytes, 9e18))), ", ",
               format_bytes(available), " are free on ", device.str());
}

std::string format_bytes(int64_t bytes) {
  static const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024.0 && unit < 6; ++unit) value /= 1024.0;
  std::ostringstream out;
  out << std::fixed << std::setprecision(unit == 0 ? 0 : 1) << value << ' ' << kUnits[unit];
  return out.str();
}

}  // namespace segre
