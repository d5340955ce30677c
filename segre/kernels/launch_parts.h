#pragma once  // internal

// What the launchers of CUDA kernels take of a tensor.

#include "segre/core/launch.h"
#include "segre/core/torch.h"

namespace segre::kernels {

/// Its memory; nullptr if it is undefined.
inline void* data_of(const torch::Tensor& x) { return x.defined() ? x.data_ptr() : nullptr; }

/// Whether its numbers are bfloat16.
inline bool is_half(const torch::Tensor& x) { return x.scalar_type() == torch::kBFloat16; }

/// The current stream of its device, which is this thread's current device until the end of the call that is given it.
inline LaunchOn stream_of(const torch::Tensor& x) { return LaunchOn(x.device()); }

}  // namespace segre::kernels
