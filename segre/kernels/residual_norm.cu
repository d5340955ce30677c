// CUDA twins of residual_norm.cpp. A group of L lanes works on a row at a time; each lane has N packs of eight
// neighbouring channels in registers. Every number of a row is requested before the first is used, which is what keeps
// the memory busy.

#include "segre/core/philox.h"
#include "segre/kernels/cuda_parts.cuh"
#include "segre/kernels/residual_norm_parts.h"

namespace segre::kernels::detail {
namespace {

using cuda::bf16;

constexpr int kThreads = 256;  // per block
constexpr int kPack = 8;       // channels
constexpr float kEpsilon = 1e-6f;

template <class T>
using Pack = cuda::Pack<T, kPack>;

template <class T>
__device__ inline void read(const T* at, float (&to)[kPack]) {
  cuda::load<T, kPack>(at).unpack(to);
}
template <class T>
__device__ inline void write(T* at, const float (&from)[kPack]) {
  Pack<T> pack;
  pack.pack(from);
  cuda::store<T, kPack>(at, pack);
}

// The sum over the L lanes of a row, each lane adding in the same order.
template <int L>
__device__ inline float row_sum(float value) {
#pragma unroll
  for (int offset = L / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// A bit for each of eight numbers from number `first`, a multiple of eight: whether it is kept.
__device__ inline unsigned kept_of(const DropoutRows& dropout, uint64_t first) {
  unsigned bits = 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto block = philox::block(dropout.seed, dropout.stream, first / 4 + half);
#pragma unroll
    for (int k = 0; k < 4; ++k) bits |= (philox::uniform(block.word[k]) < dropout.share ? 0u : 1u) << (4 * half + k);
  }
  return bits;
}

__device__ inline uint64_t first_number(const DropoutRows& dropout, int64_t row, int channels) {
  return dropout.share == 0.0f ? 0 : static_cast<uint64_t>(*dropout.first_row + row) * static_cast<uint64_t>(channels);
}

// Where a thread works: rows `row`, row + step, ..., channels channel(k) for k < N. Lanes past the last channel take
// part in the sums only.
template <int L>
struct Place {
  int lane = static_cast<int>(threadIdx.x) % L;
  int group = static_cast<int>(threadIdx.x) / L;
  int64_t row = int64_t{blockIdx.x} * (kThreads / L) + group;
  int64_t step = int64_t{gridDim.x} * (kThreads / L);
  __device__ int channel(int k) const { return (k * L + lane) * kPack; }
};

// Adds dropout(h) to value and stores the sum; value becomes what is read from there.
template <class T>
__device__ inline void add_branch(float (&value)[kPack], const Pack<T>& h, T* sum, unsigned kept, float factor) {
  float branch[kPack];
  h.unpack(branch);
#pragma unroll
  for (int j = 0; j < kPack; ++j) value[j] += (kept >> j & 1u) != 0u ? branch[j] * factor : 0.0f;
  Pack<T> pack;
  pack.pack(value);
  cuda::store<T, kPack>(sum, pack);
  pack.unpack(value);
}

template <class T, int L, int N>
__global__ void __launch_bounds__(kThreads)
    norm_kernel(const T* x, const T* h, const float* gain, T* sum, T* y, float* scale_out, uint8_t* kept_out,
                int64_t rows, int channels, DropoutRows dropout) {
  const Place<L> place;
  const float factor = 1.0f / (1.0f - dropout.share);
  // All lanes of a warp make the same number of turns, as their sums need each other.
  for (int64_t first_row = place.row - place.group; first_row < rows; first_row += place.step) {
    const int64_t r = first_row + place.group;
    Pack<T> seen[N], branch[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = place.channel(k);
      if (r >= rows || c >= channels) continue;
      seen[k] = cuda::load<T, kPack>(x + r * channels + c);
      if (h != nullptr) branch[k] = cuda::load<T, kPack>(h + r * channels + c);
    }
    float value[N][kPack];
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = place.channel(k);
      if (r >= rows || c >= channels) continue;
      seen[k].unpack(value[k]);
      if (h != nullptr) {
        unsigned kept = 0xffu;
        if (dropout.share > 0.0f) {
          kept = kept_of(dropout, first_number(dropout, r, channels) + c);
          kept_out[(r * channels + c) / kPack] = static_cast<uint8_t>(kept);
        }
        add_branch<T>(value[k], branch[k], sum + r * channels + c, kept, factor);
      }
#pragma unroll
      for (int j = 0; j < kPack; ++j) squares = fmaf(value[k][j], value[k][j], squares);
    }
    const float scale = rsqrtf(row_sum<L>(squares) / static_cast<float>(channels) + kEpsilon);
    if (r >= rows) continue;
    if (place.lane == 0) scale_out[r] = scale;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = place.channel(k);
      if (c >= channels) continue;
      float weight[kPack];
      read(gain + c, weight);
#pragma unroll
      for (int j = 0; j < kPack; ++j) value[k][j] *= scale * weight[j];
      write(y + r * channels + c, value[k]);
    }
  }
}

// partial[block] = the sum of `total` over the block's groups, in their order.
template <int L, int N>
__device__ inline void store_gain(const Place<L>& place, const float (&total)[N][kPack], float* partial, int channels) {
  constexpr int kWide = L * kPack;
  __shared__ __align__(16) float shared[kThreads / L][kWide];
#pragma unroll
  for (int k = 0; k < N; ++k) {
    __syncthreads();
    cuda::store<float, kPack>(&shared[place.group][place.lane * kPack], [&] {
      Pack<float> pack;
      pack.pack(total[k]);
      return pack;
    }());
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < kWide && k * kWide + c < channels; c += kThreads) {
      float all = 0.0f;
      for (int g = 0; g < kThreads / L; ++g) all += shared[g][c];
      partial[int64_t{blockIdx.x} * channels + k * kWide + c] = all;
    }
  }
}

// Each group sums the gain's gradient over its rows in registers.
template <class T, int L, int N>
__global__ void __launch_bounds__(kThreads, N <= 3 ? 2 : 1)
    gradients_kernel(const T* grad_sum, const T* grad_y, const T* sum, const float* scale_in, const float* gain,
                     T* grad_x, T* grad_h, float* partial, const uint8_t* kept_in, float share, int64_t rows,
                     int channels) {
  const Place<L> place;
  const float factor = 1.0f / (1.0f - share);
  float total[N][kPack] = {};
  for (int64_t first_row = place.row - place.group; first_row < rows; first_row += place.step) {
    const int64_t r = first_row + place.group;
    Pack<T> of_y[N], of_sum[N], stream[N];
    unsigned kept[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = place.channel(k);
      if (r >= rows || c >= channels) continue;
      const int64_t at = r * channels + c;
      of_y[k] = cuda::load<T, kPack>(grad_y + at);
      stream[k] = cuda::load<T, kPack>(sum + at);
      if (grad_sum != nullptr) of_sum[k] = cuda::load<T, kPack>(grad_sum + at);
      kept[k] = kept_in != nullptr ? kept_in[at / kPack] : 0xffu;
    }
    const float scale = r < rows ? scale_in[r] : 0.0f;
    float along = 0.0f;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = place.channel(k);
      if (r >= rows || c >= channels) continue;
      float grad[kPack], value[kPack], weight[kPack];
      of_y[k].unpack(grad);
      stream[k].unpack(value);
      read(gain + c, weight);
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        const float product = grad[j] * (value[j] * scale);
        total[k][j] += product;
        along = fmaf(product, weight[j], along);
      }
    }
    along = row_sum<L>(along) / static_cast<float>(channels);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = place.channel(k);
      if (r >= rows || c >= channels) continue;
      const int64_t at = r * channels + c;
      float grad[kPack], value[kPack], weight[kPack];
      of_y[k].unpack(grad);
      stream[k].unpack(value);
      read(gain + c, weight);
#pragma unroll
      for (int j = 0; j < kPack; ++j) grad[j] = scale * fmaf(grad[j], weight[j], -(value[j] * scale) * along);
      if (grad_sum != nullptr) {
        of_sum[k].unpack(value);
#pragma unroll
        for (int j = 0; j < kPack; ++j) grad[j] += value[j];
      }
      write(grad_x + at, grad);
      if (grad_h == nullptr) continue;
#pragma unroll
      for (int j = 0; j < kPack; ++j) grad[j] = (kept[k] >> j & 1u) != 0u ? grad[j] * factor : 0.0f;
      write(grad_h + at, grad);
    }
  }
  store_gain<L, N>(place, total, partial, channels);
}

__global__ void __launch_bounds__(1024) sum_gain_kernel(const float* partial, float* sum, int count, int channels) {
  cuda::sum_tall(partial, count, channels, sum);
}

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

// Pack p of [M, F] starts at number `at` of the first half of its row of u [M, 2 F].
__device__ inline int64_t in_first_half(int64_t p, int width) {
  const int64_t r = p / (width / kPack);
  return 2 * r * width + (p - r * (width / kPack)) * kPack;
}

template <class T>
__global__ void __launch_bounds__(kThreads) gated_kernel(const T* u, T* out, int64_t packs, int width) {
  for (int64_t p = int64_t{blockIdx.x} * kThreads + threadIdx.x; p < packs; p += int64_t{gridDim.x} * kThreads) {
    const int64_t at = in_first_half(p, width);
    float a[kPack], b[kPack];
    read(u + at, a);
    read(u + at + width, b);
#pragma unroll
    for (int j = 0; j < kPack; ++j) a[j] *= sigmoid(a[j]) * b[j];
    write(out + p * kPack, a);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    gated_gradient_kernel(const T* grad, const T* u, T* grad_u, int64_t packs, int width) {
  for (int64_t p = int64_t{blockIdx.x} * kThreads + threadIdx.x; p < packs; p += int64_t{gridDim.x} * kThreads) {
    const int64_t at = in_first_half(p, width);
    float a[kPack], b[kPack], g[kPack];
    read(u + at, a);
    read(u + at + width, b);
    read(grad + p * kPack, g);
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const float s = sigmoid(a[j]);
      const float silu = a[j] * s;
      a[j] = g[j] * b[j] * (s + silu * (1.0f - s));
      b[j] = g[j] * silu;
    }
    write(grad_u + at, a);
    write(grad_u + at + width, b);
  }
}

// Calls run(T{}, integral_constant L, integral_constant N) with a shape that leaves few lanes idle.
template <class Run>
void dispatch_rows(bool half, int64_t channels, const Run& run) {
  cuda::dispatch(half, false, [&](auto type, auto) {
    const auto with = [&](auto lanes, auto packs) { run(type, lanes, packs); };
    const int64_t packs = channels / kPack;
    constexpr std::integral_constant<int, 1> one{};
    constexpr std::integral_constant<int, 2> two{};
    constexpr std::integral_constant<int, 3> three{};
    constexpr std::integral_constant<int, 4> four{};
    constexpr std::integral_constant<int, 8> eight{};
    constexpr std::integral_constant<int, 16> half_warp{};
    constexpr std::integral_constant<int, 32> warp{};
    if (packs <= 16) return with(half_warp, one);
    if (packs <= 32) return with(warp, one);
    if (packs <= 48) return with(half_warp, three);
    if (packs <= 64) return with(warp, two);
    if (packs <= 96) return with(warp, three);
    if (packs <= 128) return with(warp, four);
    return with(warp, eight);
  });
}

unsigned grid_of(int64_t packs) {
  constexpr int64_t kMost = 16 * 132;
  const int64_t wanted = (packs + kThreads - 1) / kThreads;
  return static_cast<unsigned>(wanted < kMost ? wanted : kMost);
}

}  // namespace

void residual_norm_cuda(const void* x, const void* h, const float* gain, void* sum, void* y, float* scale,
                        uint8_t* kept, int64_t rows, int64_t channels, const DropoutRows& dropout, bool half,
                        void* cuda_stream) {
  constexpr int64_t kMost = 16 * 132;
  dispatch_rows(half, channels, [&](auto type, auto lanes, auto packs) {
    using T = decltype(type);
    constexpr int L = decltype(lanes)::value;
    const int64_t wanted = (rows * L + kThreads - 1) / kThreads;
    const auto grid = static_cast<unsigned>(wanted < kMost ? wanted : kMost);
    norm_kernel<T, L, decltype(packs)::value><<<grid, kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
        static_cast<const T*>(x), static_cast<const T*>(h), gain, static_cast<T*>(sum), static_cast<T*>(y), scale, kept,
        rows, static_cast<int>(channels), dropout);
  });
  cuda::check_launch("a norm of rows");
}

void residual_norm_gradients_cuda(const void* grad_sum, const void* grad_y, const void* sum, const float* scale,
                                  const float* gain, void* grad_x, void* grad_h, float* partial, float* grad_gain,
                                  const uint8_t* kept, float share, int64_t rows, int64_t channels, bool half,
                                  void* cuda_stream) {
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  const auto blocks = static_cast<unsigned>(residual_norm_blocks(rows));
  const int C = static_cast<int>(channels);
  dispatch_rows(half, channels, [&](auto type, auto lanes, auto packs) {
    using T = decltype(type);
    gradients_kernel<T, decltype(lanes)::value, decltype(packs)::value><<<blocks, kThreads, 0, stream>>>(
        static_cast<const T*>(grad_sum), static_cast<const T*>(grad_y), static_cast<const T*>(sum), scale, gain,
        static_cast<T*>(grad_x), static_cast<T*>(grad_h), partial, kept, share, rows, C);
  });
  sum_gain_kernel<<<static_cast<unsigned>((C + 31) / 32), dim3(32, 32), 0, stream>>>(partial, grad_gain,
                                                                                     static_cast<int>(blocks), C);
  cuda::check_launch("the gradient of a norm of rows");
}

void gated_cuda(const void* u, void* out, int64_t rows, int64_t width, bool half, void* cuda_stream) {
  const int64_t packs = rows * width / kPack;
  cuda::dispatch(half, false, [&](auto type, auto) {
    using T = decltype(type);
    gated_kernel<T><<<grid_of(packs), kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
        static_cast<const T*>(u), static_cast<T*>(out), packs, static_cast<int>(width));
  });
  cuda::check_launch("a gate");
}

void gated_gradient_cuda(const void* grad, const void* u, void* grad_u, int64_t rows, int64_t width, bool half,
                         void* cuda_stream) {
  const int64_t packs = rows * width / kPack;
  cuda::dispatch(half, false, [&](auto type, auto) {
    using T = decltype(type);
    gated_gradient_kernel<T><<<grid_of(packs), kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
        static_cast<const T*>(grad), static_cast<const T*>(u), static_cast<T*>(grad_u), packs, static_cast<int>(width));
  });
  cuda::check_launch("the gradient of a gate");
}

}  // namespace segre::kernels::detail
