#pragma once  // internal

// The interface between bias.cpp and bias.cu: sizes and raw pointers, so that nvcc does not have to parse LibTorch.
// Everything is launched on `cuda_stream`; nothing allocates or waits.

#include <cstdint>

namespace segre::kernels::detail {

inline constexpr int64_t kBiasMaxChannels = 1024;

/// h, skip (may be null) and out are bfloat16 if `half`, else float32.
void add_bias_cuda(const void* h, const void* skip, const float* bias, void* out, int64_t rows, int64_t channels,
                   bool half, void* cuda_stream);

/// Number of blocks in the first stage of column_sum_cuda.
inline int64_t column_sum_blocks(int64_t rows, int64_t channels) {
  constexpr int64_t kBlocks = 2 * 132;      // two per multiprocessor of an H100 or H200
  constexpr int64_t kMinNumbers = 1 << 14;  // added by one block
  const int64_t worth = (rows * channels + kMinNumbers - 1) / kMinNumbers;
  return worth < 1 ? 1 : (worth < kBlocks ? worth : kBlocks);
}

/// `partial` is [column_sum_blocks, C] float32.
void column_sum_cuda(const void* x, float* partial, float* sum, int64_t rows, int64_t channels, bool half,
                     void* cuda_stream);

}  // namespace segre::kernels::detail
