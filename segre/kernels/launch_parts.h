#pragma once  // internal

// What the launchers of CUDA kernels take of a tensor.

#include "segre/core/torch.h"

#ifdef SEGRE_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

namespace segre::kernels {

/// Its memory; nullptr if it is undefined.
inline void* data_of(const torch::Tensor& x) { return x.defined() ? x.data_ptr() : nullptr; }

/// Whether its numbers are bfloat16.
inline bool is_half(const torch::Tensor& x) { return x.scalar_type() == torch::kBFloat16; }

#ifdef SEGRE_CUDA
/// The current stream of its device.
inline void* stream_of(const torch::Tensor& x) { return c10::cuda::getCurrentCUDAStream(x.device().index()).stream(); }
#endif

}  // namespace segre::kernels
