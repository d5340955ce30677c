#pragma once

// What bias.cpp hands to bias.cu: sizes and raw pointers, so that nvcc need not read LibTorch. Everything is launched
// on `cuda_stream`, allocates nothing and waits for nothing.

#include <cstdint>

namespace segre::kernels::detail {

inline constexpr int64_t kBiasMaxChannels = 1024;

/// h, skip (may be null) and out are float32 or bfloat16, as `half` says.
void add_bias_cuda(const void* h, const void* skip, const float* bias, void* out, int64_t rows, int64_t channels,
                   bool half, void* cuda_stream);

/// Blocks of the first stage of column_sum_cuda.
inline int64_t column_sum_blocks(int64_t rows, int64_t channels) {
  constexpr int64_t kBlocks = 2 * 132;      // two for each multiprocessor of an H100 or H200
  constexpr int64_t kMinNumbers = 1 << 14;  // that a block adds
  const int64_t worth = (rows * channels + kMinNumbers - 1) / kMinNumbers;
  return worth < 1 ? 1 : (worth < kBlocks ? worth : kBlocks);
}

/// `partial` is [column_sum_blocks, C] float32.
void column_sum_cuda(const void* x, float* partial, float* sum, int64_t rows, int64_t channels, bool half,
                     void* cuda_stream);

}  // namespace segre::kernels::detail
