#include "segre/kernels/group_norm_parts.cuh"

namespace segre::kernels::detail {
namespace {

using namespace norm;

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

}  // namespace

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
