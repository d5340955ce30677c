#pragma once  // internal

// The interface between residual_norm.cpp and residual_norm.cu: sizes and raw pointers, so that nvcc does not have to
// parse LibTorch. Rows are bfloat16 if `half`, else float32. Everything is launched on `cuda_stream`; nothing allocates
// or waits.

#include <cstdint>

namespace segre::kernels::detail {

inline constexpr int64_t kMaxRowChannels = 2048;

/// Dropout of rows; see kernels::Dropout.
struct DropoutRows {
  float share;
  uint64_t seed, stream;
  const int64_t* first_row;  // on the device
};

/// h may be null; then sum is not written. kept is [rows, channels / 8], written if something is dropped.
void residual_norm_cuda(const void* x, const void* h, const float* gain, void* sum, void* y, float* scale,
                        uint8_t* kept, int64_t rows, int64_t channels, const DropoutRows& dropout, bool half,
                        void* cuda_stream);

/// Number of blocks of residual_norm_gradients_cuda.
inline int64_t residual_norm_blocks(int64_t rows) {
  constexpr int64_t kBlocks = 2 * 132;  // as many as fit on the multiprocessors of an H100 or H200
  constexpr int64_t kRowsPerBlock = 8;
  const int64_t wanted = (rows + kRowsPerBlock - 1) / kRowsPerBlock;
  return wanted < kBlocks ? wanted : kBlocks;
}

/// grad_sum and grad_h may be null, and kept if nothing was dropped. `partial` is [residual_norm_blocks, C] float32.
void residual_norm_gradients_cuda(const void* grad_sum, const void* grad_y, const void* sum, const float* scale,
                                  const float* gain, void* grad_x, void* grad_h, float* partial, float* grad_gain,
                                  const uint8_t* kept, float share, int64_t rows, int64_t channels, bool half,
                                  void* cuda_stream);

void gated_cuda(const void* u, void* out, int64_t rows, int64_t width, bool half, void* cuda_stream);
void gated_gradient_cuda(const void* grad, const void* u, void* grad_u, int64_t rows, int64_t width, bool half,
                         void* cuda_stream);

}  // namespace segre::kernels::detail
