#pragma once  // internal

#include "segre/ranks/device_sum.h"
#include "segre/ranks/ranks.h"

namespace segre {

/// Sums of CUDA tensors through the host's memory: for ranks that share a GPU, which NCCL refuses, and builds without
/// NCCL.
std::unique_ptr<DeviceSum> make_host_sum(Ranks& ranks);

}  // namespace segre
