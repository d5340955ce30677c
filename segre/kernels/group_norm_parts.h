#pragma once  // internal

// The interface between group_norm.cpp and its CPU loops (group_norm_cpu.cpp) and CUDA kernels (group_norm_forward.cu,
// group_norm_backward.cu): shapes and raw pointers, no tensors, so that nvcc does not have to parse LibTorch.

#include <cstdint>

namespace segre::kernels::detail {

struct GroupNormShape {
  int64_t items, pixels, channels, groups;
  bool silu;
};

/// Parameters; all float32. shift [N, C] may be null.
struct GroupNormWeights {
  const float* gamma;
  const float* beta;
  const float* shift;
};

/// Results of the backward pass besides dx, all float32.
struct GroupNormSums {
  float* dz;       ///< [N, C]  sum over pixels of dz: dbeta is its sum over items
  float* dz_xhat;  ///< [N, C]  sum over pixels of dz xhat: dgamma is its sum over items
  float* dshift;   ///< [N, C]  null without shift
};

void group_norm_forward_cpu(const GroupNormShape& shape, const float* x, const GroupNormWeights& weights, double eps,
                            float* y, float* mean, float* rstd);
void group_norm_backward_cpu(const GroupNormShape& shape, const float* dy, const float* x,
                             const GroupNormWeights& weights, const float* mean, const float* rstd, float* dx,
                             const GroupNormSums& sums);

/// How CUDA divides the work.
struct GroupNormPlan {
  bool whole;    ///< one block runs both phases of an item; otherwise each phase is a kernel
  int64_t span;  ///< pixels per slab, the part of an item that one block works on
  int64_t slabs;
};

inline constexpr int64_t kGroupNormMaxChannels = 1024;

/// `bytes` is the size of one number of x. A whole item per block pays off if the second read finds it in cache and the
/// items alone fill the device.
inline GroupNormPlan group_norm_plan(const GroupNormShape& shape, int64_t bytes) {
  constexpr int64_t kCachedBytes = 100 << 10;
  constexpr int64_t kFullItems = 96;
  constexpr int64_t kBlocks = 4 * 132;     // four blocks per multiprocessor of an H100 or H200
  constexpr int64_t kMaxSlabs = 64;        // every block of the second phase reads the sums of all slabs
  constexpr int64_t kMinSlabBytes = 4096;  // a block's threads read 16 bytes each at a time
  const int64_t item_bytes = shape.pixels * shape.channels * bytes;
  if (shape.items >= kFullItems && item_bytes <= kCachedBytes) return {true, shape.pixels, 1};
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const auto least = [](int64_t a, int64_t b) { return a < b ? a : b; };
  const int64_t worth = least(kMaxSlabs, least(up(item_bytes, kMinSlabBytes), shape.pixels));
  const int64_t wanted = least(up(kBlocks, shape.items), worth);
  const int64_t span = up(shape.pixels, wanted);
  return {false, span, up(shape.pixels, span)};
}

/// Device memory for intermediate results, all float32: partial sums [N, slabs, 3, C] and pivots [N, C]. Unused (and
/// may be null) if the plan is `whole`.
struct GroupNormScratch {
  float* partial;
  float* pivot;
};

/// x and y (dy, dx) are bfloat16 if `bf16`, else float32. Both functions launch on `cuda_stream` and return; they
/// neither allocate nor wait, so that a CUDA graph can capture them.
void group_norm_forward_cuda(const GroupNormShape& shape, const GroupNormPlan& plan, bool bf16, const void* x,
                             const GroupNormWeights& weights, float eps, void* y, float* mean, float* rstd,
                             const GroupNormScratch& scratch, void* cuda_stream);
/// dgamma and dbeta [C].
void group_norm_backward_cuda(const GroupNormShape& shape, const GroupNormPlan& plan, bool bf16, const void* dy,
                              const void* x, const GroupNormWeights& weights, const float* mean, const float* rstd,
                              void* dx, const GroupNormSums& sums, float* dgamma, float* dbeta,
                              const GroupNormScratch& scratch, void* cuda_stream);

}  // namespace segre::kernels::detail
