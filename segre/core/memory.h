#pragma once  // internal

#include <cstdint>
#include <filesystem>
#include <string>

#include "segre/core/torch.h"

namespace segre {

/// Bytes that can still be allocated on a device: the free memory of the GPU; on the CPU what the kernel reports as
/// available or what the container's limit leaves, whichever is less.
int64_t available_memory(torch::Device device);

/// Bytes left under the limit of the control group in `folder` (cgroup v2: memory.max, memory.current, memory.stat),
/// the largest int64 if there is no limit. Cached files that are not in use count as free: the kernel drops them as
/// soon as memory is needed.
int64_t cgroup_available(const std::filesystem::path& folder);

/// Throws InputError before an allocation that cannot succeed: "the batch needs 12.3 GB, 4.0 GB are free on cpu".
/// In float64, since the request may exceed any integer.
void require_memory(double bytes, const std::string& what, torch::Device device);

/// 1536 -> "1.5 kB".
std::string format_bytes(int64_t bytes);

}  // namespace segre
