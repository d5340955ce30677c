#include "segre/kernels/group_norm_parts.cuh"

namespace segre::kernels::detail {
namespace {

using namespace norm;

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

}  // namespace segre::kernels::detail
