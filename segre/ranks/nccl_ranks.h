#pragma once  // internal

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>

#include "segre/ranks/device_ranks.h"

namespace segre {

/// Whether this build has NCCL.
bool has_nccl();

/// By NCCL, each rank with a GPU of its own; ranks meet in the store. Error if this build lacks it.
std::unique_ptr<DeviceRanks> make_nccl_ranks(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                             torch::Device device);

}  // namespace segre
