#pragma once

#include <cstdint>

// What adam_kernel.cu takes from adam_cuda.cpp: tables of tensors small enough for a kernel's parameters.

namespace segre::kernels {

/// Tensors of one launch. The table with 40 of them fits into the 4 kB that any kernel's parameters may have.
inline constexpr int kSegments = 40;
/// Numbers of a tensor that one block works on.
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

// Each gives a cudaError_t.
int launch_adam(const SegmentTable& table, const float* numbers, const float* scale, const float* go, void* stream);
int launch_squares(const SegmentTable& table, float* partial, void* stream);
int launch_total(const float* partial, int count, float* total, void* stream);

}  // namespace segre::kernels
