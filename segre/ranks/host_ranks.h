#pragma once  // internal

#include "segre/ranks/device_ranks.h"
#include "segre/ranks/ranks.h"

namespace segre {

/// By way of the host's memory: for ranks that share a GPU, which NCCL refuses, and builds without NCCL. `ranks` must
/// outlive it.
std::unique_ptr<DeviceRanks> make_host_ranks(Ranks& ranks);

}  // namespace segre
