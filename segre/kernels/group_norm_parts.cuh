#pragma once

// What the two passes of group norm share on CUDA (group_norm_forward.cu, group_norm_backward.cu), the twins of
// group_norm_cpu.cpp. A thread owns V neighbouring channels (16 bytes if divisible) and strides over
// pixels, so rows are read whole for any grouping; sums are taken per channel and then folded into groups. Large items
// are split into slabs: one kernel writes the sums of each slab, the next folds them and writes the result. If items
// fit into cache and there are many of them, one block does both phases of an item.

#include "segre/kernels/cuda_parts.cuh"
#include "segre/kernels/group_norm_parts.h"

namespace segre::kernels::detail::norm {

using cuda::Lane;
using cuda::Pack;

struct Sizes {
  int pixels, channels, groups, span, slabs;
};

template <int V>
inline constexpr int kMaxThreads = V == 1 ? 1024 : 512;

// The part of an item that a block works on.
struct Part {
  int item, slab, begin, end;
  __device__ Part(const Sizes& s, int block) : item(block / s.slabs), slab(block % s.slabs) {
    begin = slab * s.span;
    end = begin + s.span < s.pixels ? begin + s.span : s.pixels;
  }
};

// use(p, get(p)) for p = begin, begin + step, ... < end, with several loads in flight.
template <int kAhead, class Get, class Use>
__device__ inline void for_pixels(int begin, int end, int step, const Get& get, const Use& use) {
  int p = begin;
  for (; p + (kAhead - 1) * step < end; p += kAhead * step) {
    decltype(get(p)) raw[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) raw[k] = get(p + k * step);
#pragma unroll
    for (int k = 0; k < kAhead; ++k) use(p + k * step, raw[k]);
  }
  for (; p < end; p += step) use(p, get(p));
}

// total[c] = the sum of the block's values of channel c. `lanes` is shared memory, V floats per thread.
template <int V>
__device__ inline void sum_lanes(const Lane<V>& lane, int channels, const float (&value)[V], float* lanes,
                                 float* scratch, float* total) {
  if (lane.active) {
#pragma unroll
    for (int i = 0; i < V; ++i) lanes[lane.row * channels + lane.channel + i] = value[i];
  }
  cuda::sum_columns(lanes, lane.rows, channels, channels, scratch, total);
}

template <class T>
__device__ inline float sigmoid(float z) {
  if constexpr (std::is_same_v<T, float>) return 1.0f / (1.0f + expf(-z));
  return __fdividef(1.0f, 1.0f + __expf(-z));  // accurate to 1e-6, far below bfloat16's 2e-3
}

// z = scale (x - center) + beta for the thread's channels. mean, rstd and shift are the item's rows.
template <int V>
struct Affine {
  float center[V], scale[V], beta[V];
  __device__ Affine(const Sizes& s, const Lane<V>& lane, const GroupNormWeights& weights, const float* shift,
                    const float* mean, const float* rstd) {
    const int per_group = s.channels / s.groups;
#pragma unroll
    for (int i = 0; i < V; ++i) {
      const int c = lane.channel + i;
      const int g = c / per_group;
      center[i] = mean[g] - (shift == nullptr ? 0.0f : shift[c]);
      scale[i] = weights.gamma[c] * rstd[g];
      beta[i] = weights.beta[c];
    }
  }
};

__device__ inline int64_t item_size(const Sizes& s) { return int64_t{s.pixels} * s.channels; }

__device__ inline const float* row_of(const float* rows, int item, int length) {
  return rows == nullptr ? nullptr : rows + int64_t{item} * length;
}

// Hands out shared memory in floats, in call order.
struct Shared {
  float* next;
  __device__ float* take(int count) {
    float* out = next;
    next += count;
    return out;
  }
  __device__ float* scratch(int channels) {
    const int threads = static_cast<int>(blockDim.x);
    return take(threads > channels ? threads : channels);
  }
};

extern __shared__ float4 shared_memory[];  // float4 for alignment

inline Sizes sizes_of(const GroupNormShape& shape, const GroupNormPlan& plan) {
  return {static_cast<int>(shape.pixels), static_cast<int>(shape.channels), static_cast<int>(shape.groups),
          static_cast<int>(plan.span), static_cast<int>(plan.slabs)};
}

// Like cuda::dispatch, with a constant for the activation.
template <class Run>
void dispatch(bool half, bool wide, bool silu, const Run& run) {
  cuda::dispatch(half, wide, [&](auto type, auto width) {
    silu ? run(type, width, std::true_type{}) : run(type, width, std::false_type{});
  });
}

// A block that processes a whole item must keep a multiprocessor busy on its own.
inline int threads_for(int channels, int V, bool whole) { return cuda::threads_for(channels / V, whole ? 512 : 256); }

inline int floats_of_scratch(int threads, int channels) { return threads > channels ? threads : channels; }

}  // namespace segre::kernels::detail::norm
