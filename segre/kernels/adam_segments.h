#pragma once  // internal

#include <cstdint>

// The interface between adam_cuda.cpp and adam_kernel.cu: tensor tables small enough for kernel parameters.

namespace segre::kernels {

/// Tensors per launch. A table of 40 fits into the 4 kB available to the parameters of any kernel.
inline constexpr int kSegments = 40;
/// Tensor elements per block.
inline constexpr int64_t kElementsPerBlock = 4096;

struct SegmentPointers {
  float* weight;
  const void* gradient;
  float* m;
  float* v;
  float* average;
  void* shadow;  // bfloat16, or nullptr
  int64_t count;
  bool gradient_is_bf16;
};

struct SegmentTable {
  SegmentPointers segment[kSegments];
  int first_block[kSegments];
  int count;
  int n_blocks;
};
static_assert(sizeof(SegmentTable) <= 4000);

// Each returns a cudaError_t.
int launch_adam(const SegmentTable& table, const float* numbers, const float* scale, const float* go, void* stream);
int launch_squares(const SegmentTable& table, float* partial, void* stream);
int launch_total(const float* partial, int count, float* total, void* stream);

}  // namespace segre::kernels
