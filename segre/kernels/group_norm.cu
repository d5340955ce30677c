// CUDA twin of group_norm_cpu.cpp. A thread owns V neighbouring channels (16 bytes if divisible) and strides over
// pixels, so rows are read whole for any grouping; sums are taken per channel and then folded into groups. Large items
// are split into slabs: one kernel writes the sums of each slab, the next folds them and writes the result. If items
// fit into cache and there are many of them, one block does both phases of an item.

#include "segre/kernels/cuda_parts.cuh"
#include "segre/kernels/group_norm_parts.h"

namespace segre::kernels::detail {
namespace {

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

// ---- forward ----------------------------------------------------------------------------------------------------

// A number near each channel's mean, the same for all slabs: sums about it lose no digits to a common offset. It is the
// mean of four pixels away from the corner, added in pairs so that equal values are reproduced exactly.
template <class T, int V>
__device__ inline void find_pivot(const T* x, const Sizes& s, const Lane<V>& lane, float (&pivot)[V]) {
  float value[4][V];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int p = static_cast<int>(int64_t{2 * k + 1} * s.pixels / 8);
    cuda::load<T, V>(x + p * s.channels + lane.channel).unpack(value[k]);
  }
#pragma unroll
  for (int i = 0; i < V; ++i) pivot[i] = 0.25f * ((value[0][i] + value[1][i]) + (value[2][i] + value[3][i]));
}

// Per channel, the sums of d = x - pivot and d^2 over pixels begin ... end - 1.
template <class T, int V>
__device__ inline void forward_sums(const T* x, const Sizes& s, const Lane<V>& lane, int begin, int end,
                                    const float (&pivot)[V], float* lanes, float* scratch, float* sum, float* squares) {
  float total[V] = {};
  float total_squares[V] = {};
  if (lane.active) {
    for_pixels<4>(
        begin + lane.row, end, lane.rows, [&](int p) { return cuda::load<T, V>(x + p * s.channels + lane.channel); },
        [&](int, const Pack<T, V>& raw) {
          float value[V];
          raw.unpack(value);
#pragma unroll
          for (int i = 0; i < V; ++i) {
            const float d = value[i] - pivot[i];
            total[i] += d;
            total_squares[i] = fmaf(d, d, total_squares[i]);
          }
        });
  }
  sum_lanes(lane, s.channels, total, lanes, scratch, sum);
  sum_lanes(lane, s.channels, total_squares, lanes, scratch, squares);
}

// Mean and rstd of each group, from the whole item's sums per channel, which are overwritten. pivot and shift (may be
// null) are the item's rows; all other pointers are shared memory. Ends with a barrier.
__device__ inline void group_statistics(const Sizes& s, float eps, const float* pivot, const float* shift, float* sum,
                                        float* squares, float* mean, float* rstd) {
  const int per_group = s.channels / s.groups;
  const float P = static_cast<float>(s.pixels);
  for (int c = static_cast<int>(threadIdx.x); c < s.channels; c += static_cast<int>(blockDim.x)) {
    const int first = c - c % per_group;
    const float off = sum[c] / P;
    squares[c] = fmaxf(fmaf(-sum[c], off, squares[c]), 0.0f);
    // The channel's mean relative to the pivot of its group's first channel: small differences keep their digits.
    sum[c] = (pivot[c] - pivot[first]) + off + (shift == nullptr ? 0.0f : shift[c] - shift[first]);
  }
  __syncthreads();
  for (int g = static_cast<int>(threadIdx.x); g < s.groups; g += static_cast<int>(blockDim.x)) {
    const int first = g * per_group;
    float off = 0.0f;
    for (int c = first; c < first + per_group; ++c) off += sum[c];
    off /= static_cast<float>(per_group);
    float total = 0.0f;
    for (int c = first; c < first + per_group; ++c) {
      const float d = sum[c] - off;
      total += fmaf(P * d, d, squares[c]);
    }
    mean[g] = (pivot[first] + (shift == nullptr ? 0.0f : shift[first])) + off;
    rstd[g] = 1.0f / sqrtf(total / (P * static_cast<float>(per_group)) + eps);
  }
  __syncthreads();
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

template <class T, int V, bool silu>
__device__ inline void forward_apply(const T* x, T* y, const Sizes& s, const Lane<V>& lane, int begin, int end,
                                     const Affine<V>& affine) {
  if (!lane.active) return;
  for_pixels<4>(
      begin + lane.row, end, lane.rows, [&](int p) { return cuda::load<T, V>(x + p * s.channels + lane.channel); },
      [&](int p, const Pack<T, V>& raw) {
        float value[V];
        raw.unpack(value);
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const float z = fmaf(affine.scale[i], value[i] - affine.center[i], affine.beta[i]);
          value[i] = silu ? z * sigmoid<T>(z) : z;
        }
        Pack<T, V> out;
        out.pack(value);
        cuda::store(y + p * s.channels + lane.channel, out);
      });
}

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

template <class T, int V>
__global__ void __launch_bounds__(kMaxThreads<V>)
    forward_sums_kernel(const T* x, Sizes s, float* partial, float* pivots) {
  Shared shared{reinterpret_cast<float*>(shared_memory)};
  float* lanes = shared.take(static_cast<int>(blockDim.x) * V);
  float* scratch = shared.scratch(s.channels);
  const Lane<V> lane(s.channels);
  const Part part(s, static_cast<int>(blockIdx.x));
  const T* x_item = x + part.item * item_size(s);
  float pivot[V];
  find_pivot(x_item, s, lane, pivot);
  if (part.slab == 0 && lane.row == 0) {
#pragma unroll
    for (int i = 0; i < V; ++i) pivots[int64_t{part.item} * s.channels + lane.channel + i] = pivot[i];
  }
  float* sum = partial + int64_t{blockIdx.x} * 3 * s.channels;
  forward_sums(x_item, s, lane, part.begin, part.end, pivot, lanes, scratch, sum, sum + s.channels);
}

template <class T, int V, bool silu>
__global__ void __launch_bounds__(kMaxThreads<V>)
    forward_apply_kernel(const T* x, GroupNormWeights weights, Sizes s, float eps, const float* partial,
                         const float* pivots, T* y, float* mean_out, float* rstd_out) {
  Shared shared{reinterpret_cast<float*>(shared_memory)};
  float* scratch = shared.scratch(s.channels);
  float* sum = shared.take(s.channels);
  float* squares = shared.take(s.channels);
  float* mean = shared.take(s.groups);
  float* rstd = shared.take(s.groups);
  const Lane<V> lane(s.channels);
  // Backwards: what the previous kernel read last is still in cache.
  const Part part(s, static_cast<int>(gridDim.x - 1 - blockIdx.x));
  const float* shift = row_of(weights.shift, part.item, s.channels);
  const float* from = partial + int64_t{part.item} * s.slabs * 3 * s.channels;
  cuda::sum_columns(from, s.slabs, 3 * s.channels, s.channels, scratch, sum);
  cuda::sum_columns(from + s.channels, s.slabs, 3 * s.channels, s.channels, scratch, squares);
  group_statistics(s, eps, row_of(pivots, part.item, s.channels), shift, sum, squares, mean, rstd);
  if (part.slab == 0) {
    for (int g = static_cast<int>(threadIdx.x); g < s.groups; g += static_cast<int>(blockDim.x)) {
      mean_out[int64_t{part.item} * s.groups + g] = mean[g];
      rstd_out[int64_t{part.item} * s.groups + g] = rstd[g];
    }
  }
  const int64_t offset = part.item * item_size(s);
  forward_apply<T, V, silu>(x + offset, y + offset, s, lane, part.begin, part.end,
                            Affine<V>(s, lane, weights, shift, mean, rstd));
}

template <class T, int V, bool silu>
__global__ void __launch_bounds__(kMaxThreads<V>)
    forward_whole_kernel(const T* x, GroupNormWeights weights, Sizes s, float eps, T* y, float* mean_out,
                         float* rstd_out) {
  Shared shared{reinterpret_cast<float*>(shared_memory)};
  float* lanes = shared.take(static_cast<int>(blockDim.x) * V);
  float* scratch = shared.scratch(s.channels);
  float* sum = shared.take(s.channels);
  float* squares = shared.take(s.channels);
  float* pivots = shared.take(s.channels);
  float* mean = shared.take(s.groups);
  float* rstd = shared.take(s.groups);
  const Lane<V> lane(s.channels);
  const int item = static_cast<int>(blockIdx.x);
  const float* shift = row_of(weights.shift, item, s.channels);
  const int64_t offset = item * item_size(s);
  float pivot[V];
  find_pivot(x + offset, s, lane, pivot);
  if (lane.row == 0) {
#pragma unroll
    for (int i = 0; i < V; ++i) pivots[lane.channel + i] = pivot[i];
  }
  forward_sums(x + offset, s, lane, 0, s.pixels, pivot, lanes, scratch, sum, squares);
  group_statistics(s, eps, pivots, shift, sum, squares, mean, rstd);
  for (int g = static_cast<int>(threadIdx.x); g < s.groups; g += static_cast<int>(blockDim.x)) {
    mean_out[int64_t{item} * s.groups + g] = mean[g];
    rstd_out[int64_t{item} * s.groups + g] = rstd[g];
  }
  forward_apply<T, V, silu>(x + offset, y + offset, s, lane, 0, s.pixels,
                            Affine<V>(s, lane, weights, shift, mean, rstd));
}

// ---- backward ---------------------------------------------------------------------------------------------------

template <class T, int V>
struct Pair {
  Pack<T, V> x, dy;
};

template <class T, bool silu>
__device__ inline float gradient_of_z(float dy, float z) {
  if constexpr (!silu) return dy;
  const float s = sigmoid<T>(z);
  return dy * (s * fmaf(z, 1.0f - s, 1.0f));
}

// use(p, u, dz) for each of the thread's pixels, over its channels, with u = x - center and dz = dy act'(z).
template <class T, int V, bool silu, class Use>
__device__ inline void for_gradients(const T* dy, const T* x, const Sizes& s, const Lane<V>& lane, int begin, int end,
                                     const Affine<V>& affine, const Use& use) {
  if (!lane.active) return;
  for_pixels<2>(
      begin + lane.row, end, lane.rows,
      [&](int p) {
        const int at = p * s.channels + lane.channel;
        return Pair<T, V>{cuda::load<T, V>(x + at), cuda::load<T, V>(dy + at)};
      },
      [&](int p, const Pair<T, V>& raw) {
        float u[V];
        float dz[V];
        raw.x.unpack(u);
        raw.dy.unpack(dz);
#pragma unroll
        for (int i = 0; i < V; ++i) {
          u[i] -= affine.center[i];
          dz[i] = gradient_of_z<T, silu>(dz[i], fmaf(affine.scale[i], u[i], affine.beta[i]));
        }
        use(p, u, dz);
      });
}

// Per channel, the sums of dz, dz u and u over pixels begin ... end - 1, into three rows of `sums`.
template <class T, int V, bool silu>
__device__ inline void backward_sums(const T* dy, const T* x, const Sizes& s, const Lane<V>& lane, int begin, int end,
                                     const Affine<V>& affine, float* lanes, float* scratch, float* sums) {
  float sum_dz[V] = {};
  float sum_dz_u[V] = {};
  float sum_u[V] = {};
  for_gradients<T, V, silu>(dy, x, s, lane, begin, end, affine, [&](int, const float(&u)[V], const float(&dz)[V]) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      sum_dz[i] += dz[i];
      sum_dz_u[i] = fmaf(dz[i], u[i], sum_dz_u[i]);
      sum_u[i] += u[i];
    }
  });
  sum_lanes(lane, s.channels, sum_dz, lanes, scratch, sums);
  sum_lanes(lane, s.channels, sum_dz_u, lanes, scratch, sums + s.channels);
  sum_lanes(lane, s.channels, sum_u, lanes, scratch, sums + 2 * s.channels);
}

// The means of gamma dz and gamma dz xhat over each group, from the whole item's sums. Ends with a barrier.
__device__ inline void group_means(const Sizes& s, const float* gamma, const float* rstd, const float* sums,
                                   float* mean_dz, float* mean_dz_xhat) {
  const int per_group = s.channels / s.groups;
  const float count = static_cast<float>(s.pixels) * static_cast<float>(per_group);
  for (int g = static_cast<int>(threadIdx.x); g < s.groups; g += static_cast<int>(blockDim.x)) {
    float total = 0.0f;
    float total_xhat = 0.0f;
    for (int c = g * per_group; c < (g + 1) * per_group; ++c) {
      total = fmaf(gamma[c], sums[c], total);
      total_xhat = fmaf(gamma[c], sums[s.channels + c], total_xhat);
    }
    mean_dz[g] = total / count;
    mean_dz_xhat[g] = total_xhat * rstd[g] / count;
  }
  __syncthreads();
}

// One item's contribution to the parameter gradients. dshift, the sum of dx over pixels, needs no pass over dx.
__device__ inline void write_sums(const Sizes& s, int item, const float* gamma, const float* rstd, const float* sums,
                                  const float* mean_dz, const float* mean_dz_xhat, const GroupNormSums& out) {
  const int per_group = s.channels / s.groups;
  const float P = static_cast<float>(s.pixels);
  for (int c = static_cast<int>(threadIdx.x); c < s.channels; c += static_cast<int>(blockDim.x)) {
    const int g = c / per_group;
    const int64_t at = int64_t{item} * s.channels + c;
    out.dz[at] = sums[c];
    out.dz_xhat[at] = sums[s.channels + c] * rstd[g];
    if (out.dshift != nullptr) {
      const float sum_xhat = sums[2 * s.channels + c] * rstd[g];
      out.dshift[at] = rstd[g] * (gamma[c] * sums[c] - P * mean_dz[g] - mean_dz_xhat[g] * sum_xhat);
    }
  }
}

// dx = rstd (gamma dz - mean_dz - xhat mean_dz_xhat).
template <class T, int V, bool silu>
__device__ inline void backward_apply(const T* dy, const T* x, T* dx, const Sizes& s, const Lane<V>& lane, int begin,
                                      int end, const Affine<V>& affine, const float* rstd, const float* mean_dz,
                                      const float* mean_dz_xhat) {
  const int per_group = s.channels / s.groups;
  float slope[V];
  float offset[V];
#pragma unroll
  for (int i = 0; i < V; ++i) {
    const int g = (lane.channel + i) / per_group;
    slope[i] = -rstd[g] * rstd[g] * mean_dz_xhat[g];
    offset[i] = -rstd[g] * mean_dz[g];
  }
  for_gradients<T, V, silu>(dy, x, s, lane, begin, end, affine, [&](int p, const float(&u)[V], const float(&dz)[V]) {
    float value[V];
#pragma unroll
    for (int i = 0; i < V; ++i) value[i] = fmaf(affine.scale[i], dz[i], fmaf(slope[i], u[i], offset[i]));
    Pack<T, V> out;
    out.pack(value);
    cuda::store(dx + p * s.channels + lane.channel, out);
  });
}

template <class T, int V, bool silu>
__global__ void __launch_bounds__(kMaxThreads<V>)
    backward_sums_kernel(const T* dy, const T* x, GroupNormWeights weights, Sizes s, const float* mean,
                         const float* rstd, float* partial) {
  Shared shared{reinterpret_cast<float*>(shared_memory)};
  float* lanes = shared.take(static_cast<int>(blockDim.x) * V);
  float* scratch = shared.scratch(s.channels);
  const Lane<V> lane(s.channels);
  const Part part(s, static_cast<int>(blockIdx.x));
  const Affine<V> affine(s, lane, weights, row_of(weights.shift, part.item, s.channels),
                         row_of(mean, part.item, s.groups), row_of(rstd, part.item, s.groups));
  const int64_t offset = part.item * item_size(s);
  backward_sums<T, V, silu>(dy + offset, x + offset, s, lane, part.begin, part.end, affine, lanes, scratch,
                            partial + int64_t{blockIdx.x} * 3 * s.channels);
}

template <class T, int V, bool silu>
__global__ void __launch_bounds__(kMaxThreads<V>)
    backward_apply_kernel(const T* dy, const T* x, GroupNormWeights weights, Sizes s, const float* mean,
                          const float* rstd, const float* partial, T* dx, GroupNormSums out) {
  Shared shared{reinterpret_cast<float*>(shared_memory)};
  float* scratch = shared.scratch(s.channels);
  float* sums = shared.take(3 * s.channels);
  float* mean_dz = shared.take(s.groups);
  float* mean_dz_xhat = shared.take(s.groups);
  const Lane<V> lane(s.channels);
  const Part part(s, static_cast<int>(gridDim.x - 1 - blockIdx.x));
  const float* rstd_item = row_of(rstd, part.item, s.groups);
  const float* from = partial + int64_t{part.item} * s.slabs * 3 * s.channels;
  for (int k = 0; k < 3; ++k)
    cuda::sum_columns(from + k * s.channels, s.slabs, 3 * s.channels, s.channels, scratch, sums + k * s.channels);
  group_means(s, weights.gamma, rstd_item, sums, mean_dz, mean_dz_xhat);
  if (part.slab == 0) write_sums(s, part.item, weights.gamma, rstd_item, sums, mean_dz, mean_dz_xhat, out);
  const Affine<V> affine(s, lane, weights, row_of(weights.shift, part.item, s.channels),
                         row_of(mean, part.item, s.groups), rstd_item);
  const int64_t offset = part.item * item_size(s);
  backward_apply<T, V, silu>(dy + offset, x + offset, dx + offset, s, lane, part.begin, part.end, affine, rstd_item,
                             mean_dz, mean_dz_xhat);
}

template <class T, int V, bool silu>
__global__ void __launch_bounds__(kMaxThreads<V>)
    backward_whole_kernel(const T* dy, const T* x, GroupNormWeights weights, Sizes s, const float* mean,
                          const float* rstd, T* dx, GroupNormSums out) {
  Shared shared{reinterpret_cast<float*>(shared_memory)};
  float* lanes = shared.take(static_cast<int>(blockDim.x) * V);
  float* scratch = shared.scratch(s.channels);
  float* sums = shared.take(3 * s.channels);
  float* mean_dz = shared.take(s.groups);
  float* mean_dz_xhat = shared.take(s.groups);
  const Lane<V> lane(s.channels);
  const int item = static_cast<int>(blockIdx.x);
  const float* rstd_item = row_of(rstd, item, s.groups);
  const Affine<V> affine(s, lane, weights, row_of(weights.shift, item, s.channels), row_of(mean, item, s.groups),
                         rstd_item);
  const int64_t offset = item * item_size(s);
  backward_sums<T, V, silu>(dy + offset, x + offset, s, lane, 0, s.pixels, affine, lanes, scratch, sums);
  group_means(s, weights.gamma, rstd_item, sums, mean_dz, mean_dz_xhat);
  write_sums(s, item, weights.gamma, rstd_item, sums, mean_dz, mean_dz_xhat, out);
  backward_apply<T, V, silu>(dy + offset, x + offset, dx + offset, s, lane, 0, s.pixels, affine, rstd_item, mean_dz,
                             mean_dz_xhat);
}

// dbeta (blockIdx.y = 0) and dgamma (1): sums over items.
__global__ void __launch_bounds__(1024)
    parameter_sums_kernel(GroupNormSums sums, int items, int channels, float* dgamma, float* dbeta) {
  if (blockIdx.y == 0) {
    cuda::sum_tall(sums.dz, items, channels, dbeta);
  } else {
    cuda::sum_tall(sums.dz_xhat, items, channels, dgamma);
  }
}

// ---- launching --------------------------------------------------------------------------------------------------

Sizes sizes_of(const GroupNormShape& shape, const GroupNormPlan& plan) {
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
int threads_for(int channels, int V, bool whole) { return cuda::threads_for(channels / V, whole ? 512 : 256); }

int floats_of_scratch(int threads, int channels) { return threads > channels ? threads : channels; }

}  // namespace

void group_norm_forward_cuda(const GroupNormShape& shape, const GroupNormPlan& plan, bool half, const void* x,
                             const GroupNormWeights& weights, float eps, void* y, float* mean, float* rstd,
                             const GroupNormScratch& scratch, void* cuda_stream) {
  const Sizes s = sizes_of(shape, plan);
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  const bool wide = s.channels % (half ? 8 : 4) == 0 && cuda::aligned(x) && cuda::aligned(y);
  const auto blocks = static_cast<unsigned>(shape.items * plan.slabs);
  dispatch(half, wide, shape.silu, [&](auto type, auto width, auto silu) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    constexpr bool kSilu = decltype(silu)::value;
    const int threads = threads_for(s.channels, V, plan.whole);
    const int base = floats_of_scratch(threads, s.channels);
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(y);
    if (plan.whole) {
      const size_t bytes = sizeof(float) * (threads * V + base + 3 * s.channels + 2 * s.groups);
      forward_whole_kernel<T, V, kSilu><<<blocks, threads, bytes, stream>>>(from, weights, s, eps, to, mean, rstd);
      return;
    }
    forward_sums_kernel<T, V>
        <<<blocks, threads, sizeof(float) * (threads * V + base), stream>>>(from, s, scratch.partial, scratch.pivot);
    const size_t bytes = sizeof(float) * (base + 2 * s.channels + 2 * s.groups);
    forward_apply_kernel<T, V, kSilu>
        <<<blocks, threads, bytes, stream>>>(from, weights, s, eps, scratch.partial, scratch.pivot, to, mean, rstd);
  });
  cuda::check_launch("group norm");
}

void group_norm_backward_cuda(const GroupNormShape& shape, const GroupNormPlan& plan, bool half, const void* dy,
                              const void* x, const GroupNormWeights& weights, const float* mean, const float* rstd,
                              void* dx, const GroupNormSums& sums, float* dgamma, float* dbeta,
                              const GroupNormScratch& scratch, void* cuda_stream) {
  const Sizes s = sizes_of(shape, plan);
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  const bool wide = s.channels % (half ? 8 : 4) == 0 && cuda::aligned(x) && cuda::aligned(dy) && cuda::aligned(dx);
  const auto blocks = static_cast<unsigned>(shape.items * plan.slabs);
  dispatch(half, wide, shape.silu, [&](auto type, auto width, auto silu) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    constexpr bool kSilu = decltype(silu)::value;
    const int threads = threads_for(s.channels, V, plan.whole);
    const int base = floats_of_scratch(threads, s.channels);
    const auto* grad = static_cast<const T*>(dy);
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(dx);
    const size_t bytes = sizeof(float) * (base + 3 * s.channels + 2 * s.groups);
    if (plan.whole) {
      backward_whole_kernel<T, V, kSilu><<<blocks, threads, bytes + sizeof(float) * threads * V, stream>>>(
          grad, from, weights, s, mean, rstd, to, sums);
      return;
    }
    backward_sums_kernel<T, V, kSilu><<<blocks, threads, sizeof(float) * (threads * V + base), stream>>>(
        grad, from, weights, s, mean, rstd, scratch.partial);
    backward_apply_kernel<T, V, kSilu>
        <<<blocks, threads, bytes, stream>>>(grad, from, weights, s, mean, rstd, scratch.partial, to, sums);
  });
  const dim3 grid(static_cast<unsigned>((s.channels + 31) / 32), 2);
  parameter_sums_kernel<<<grid, dim3(32, 32), 0, stream>>>(sums, static_cast<int>(shape.items), s.channels, dgamma,
                                                           dbeta);
  cuda::check_launch("gradient of group norm");
}

}  // namespace segre::kernels::detail
