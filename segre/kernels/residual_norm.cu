// CUDA twins of residual_norm.cpp. A warp works on a row at a time and keeps it in registers: each lane has packs of
// four neighbouring channels, which is also what one Philox block decides about.

#include "segre/core/philox.h"
#include "segre/kernels/cuda_parts.cuh"
#include "segre/kernels/residual_norm_parts.h"

namespace segre::kernels::detail {
namespace {

using cuda::bf16;

constexpr int kWarp = 32;
constexpr int kWarps = 8;  // per block
constexpr int kPack = 4;   // channels
constexpr float kEpsilon = 1e-6f;

__device__ inline float4 load4(const float* at) { return *reinterpret_cast<const float4*>(at); }
__device__ inline float4 load4(const bf16* at) {
  const uint2 raw = *reinterpret_cast<const uint2*>(at);
  return make_float4(__uint_as_float(raw.x << 16), __uint_as_float(raw.x & 0xffff0000u), __uint_as_float(raw.y << 16),
                     __uint_as_float(raw.y & 0xffff0000u));
}
__device__ inline void store4(float* at, float4 value) { *reinterpret_cast<float4*>(at) = value; }
__device__ inline void store4(bf16* at, float4 value) {
  const __nv_bfloat162 low = __floats2bfloat162_rn(value.x, value.y);
  const __nv_bfloat162 high = __floats2bfloat162_rn(value.z, value.w);
  *reinterpret_cast<uint2*>(at) =
      make_uint2(*reinterpret_cast<const unsigned*>(&low), *reinterpret_cast<const unsigned*>(&high));
}
// What a number becomes when it is stored and read again.
template <class T>
__device__ inline float4 rounded(float4 value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return make_float4(__bfloat162float(__float2bfloat16_rn(value.x)), __bfloat162float(__float2bfloat16_rn(value.y)),
                       __bfloat162float(__float2bfloat16_rn(value.z)), __bfloat162float(__float2bfloat16_rn(value.w)));
  }
}

__device__ inline float4 times(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
__device__ inline float4 times(float4 a, float b) { return make_float4(a.x * b, a.y * b, a.z * b, a.w * b); }
__device__ inline float4 plus(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ inline float sum_of(float4 a) { return (a.x + a.y) + (a.z + a.w); }

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// The factors of four numbers from number `first`, a multiple of four.
__device__ inline float4 factors_of(const DropoutRows& dropout, uint64_t first) {
  if (dropout.share == 0.0f) return make_float4(1.0f, 1.0f, 1.0f, 1.0f);
  const auto block = philox::block(dropout.seed, dropout.stream, first / 4);
  const float kept = 1.0f / (1.0f - dropout.share);
  const auto factor = [&](uint32_t word) { return philox::uniform(word) < dropout.share ? 0.0f : kept; };
  return make_float4(factor(block.word[0]), factor(block.word[1]), factor(block.word[2]), factor(block.word[3]));
}

__device__ inline uint64_t first_number(const DropoutRows& dropout, int64_t row, int channels) {
  return dropout.share == 0.0f ? 0 : static_cast<uint64_t>(*dropout.first_row + row) * static_cast<uint64_t>(channels);
}

template <class T, int N>
__global__ void __launch_bounds__(kWarps* kWarp)
    norm_kernel(const T* x, const T* h, const float* gain, T* sum, T* y, float* scale_out, int64_t rows, int channels,
                DropoutRows dropout) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t step = int64_t{gridDim.x} * kWarps;
  for (int64_t r = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp; r < rows; r += step) {
    const uint64_t first = first_number(dropout, r, channels);
    float4 value[N];
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = (k * kWarp + lane) * kPack;
      if (c >= channels) continue;
      const int64_t at = r * channels + c;
      value[k] = load4(x + at);
      if (h != nullptr) {
        value[k] = rounded<T>(plus(value[k], times(load4(h + at), factors_of(dropout, first + c))));
        store4(sum + at, value[k]);
      }
      squares += sum_of(times(value[k], value[k]));
    }
    const float scale = rsqrtf(warp_sum(squares) / static_cast<float>(channels) + kEpsilon);
    if (lane == 0) scale_out[r] = scale;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = (k * kWarp + lane) * kPack;
      if (c < channels) store4(y + r * channels + c, times(times(value[k], scale), load4(gain + c)));
    }
  }
}

// Each warp sums the gain's gradient over its rows in registers; the block's warps are added in shared memory.
template <class T, int N>
__global__ void __launch_bounds__(kWarps* kWarp)
    gradients_kernel(const T* grad_sum, const T* grad_y, const T* sum, const float* scale_in, const float* gain,
                     T* grad_x, T* grad_h, float* partial, int64_t rows, int channels, DropoutRows dropout) {
  __shared__ float shared[kWarps][kWarp * kPack];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t step = int64_t{gridDim.x} * kWarps;
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float4 total[N];
#pragma unroll
  for (int k = 0; k < N; ++k) total[k] = zero;
  for (int64_t r = int64_t{blockIdx.x} * kWarps + warp; r < rows; r += step) {
    const uint64_t first = first_number(dropout, r, channels);
    const float scale = scale_in[r];
    float4 normal[N];
    float4 slope[N];
    float along = 0.0f;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = (k * kWarp + lane) * kPack;
      if (c >= channels) continue;
      const int64_t at = r * channels + c;
      normal[k] = times(load4(sum + at), scale);
      const float4 grad = load4(grad_y + at);
      total[k] = plus(total[k], times(grad, normal[k]));
      slope[k] = times(grad, load4(gain + c));
      along += sum_of(times(slope[k], normal[k]));
    }
    along = warp_sum(along) / static_cast<float>(channels);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int c = (k * kWarp + lane) * kPack;
      if (c >= channels) continue;
      const int64_t at = r * channels + c;
      float4 value = times(plus(slope[k], times(normal[k], -along)), scale);
      if (grad_sum != nullptr) value = plus(value, load4(grad_sum + at));
      store4(grad_x + at, value);
      if (grad_h != nullptr) store4(grad_h + at, times(value, factors_of(dropout, first + c)));
    }
  }
#pragma unroll
  for (int k = 0; k < N; ++k) {
    __syncthreads();
    *reinterpret_cast<float4*>(&shared[warp][lane * kPack]) = total[k];
    __syncthreads();
    const int c = static_cast<int>(threadIdx.x);
    if (c < kWarp * kPack && k * kWarp * kPack + c < channels) {
      float all = 0.0f;
      for (int w = 0; w < kWarps; ++w) all += shared[w][c];
      partial[int64_t{blockIdx.x} * channels + k * kWarp * kPack + c] = all;
    }
  }
}

__global__ void __launch_bounds__(1024) sum_gain_kernel(const float* partial, float* sum, int count, int channels) {
  cuda::sum_tall(partial, count, channels, sum);
}

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

template <class T>
__global__ void __launch_bounds__(256) gated_kernel(const T* u, T* out, int64_t packs, int width) {
  const int per_row = width / kPack;
  for (int64_t p = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; p < packs; p += int64_t{gridDim.x} * blockDim.x) {
    const int64_t r = p / per_row;
    const int64_t at = 2 * r * width + (p - r * per_row) * kPack;
    const float4 a = load4(u + at);
    const float4 b = load4(u + at + width);
    store4(out + p * kPack, make_float4(a.x * sigmoid(a.x) * b.x, a.y * sigmoid(a.y) * b.y, a.z * sigmoid(a.z) * b.z,
                                        a.w * sigmoid(a.w) * b.w));
  }
}

__device__ inline void gate_slopes(float a, float b, float grad, float& to_a, float& to_b) {
  const float s = sigmoid(a);
  const float silu = a * s;
  to_a = grad * b * (s + silu * (1.0f - s));
  to_b = grad * silu;
}

template <class T>
__global__ void __launch_bounds__(256)
    gated_gradient_kernel(const T* grad, const T* u, T* grad_u, int64_t packs, int width) {
  const int per_row = width / kPack;
  for (int64_t p = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; p < packs; p += int64_t{gridDim.x} * blockDim.x) {
    const int64_t r = p / per_row;
    const int64_t at = 2 * r * width + (p - r * per_row) * kPack;
    const float4 a = load4(u + at);
    const float4 b = load4(u + at + width);
    const float4 g = load4(grad + p * kPack);
    float4 to_a, to_b;
    gate_slopes(a.x, b.x, g.x, to_a.x, to_b.x);
    gate_slopes(a.y, b.y, g.y, to_a.y, to_b.y);
    gate_slopes(a.z, b.z, g.z, to_a.z, to_b.z);
    gate_slopes(a.w, b.w, g.w, to_a.w, to_b.w);
    store4(grad_u + at, to_a);
    store4(grad_u + at + width, to_b);
  }
}

// Calls run(T{}, integral_constant N) with N packs per lane, enough for the channels.
template <class Run>
void dispatch_rows(bool half, int64_t channels, const Run& run) {
  cuda::dispatch(half, false, [&](auto type, auto) {
    const int64_t packs = (channels + kWarp * kPack - 1) / (kWarp * kPack);
    if (packs <= 1) return run(type, std::integral_constant<int, 1>{});
    if (packs <= 2) return run(type, std::integral_constant<int, 2>{});
    if (packs <= 3) return run(type, std::integral_constant<int, 3>{});
    if (packs <= 4) return run(type, std::integral_constant<int, 4>{});
    if (packs <= 8) return run(type, std::integral_constant<int, 8>{});
    return run(type, std::integral_constant<int, 16>{});
  });
}

unsigned grid_of(int64_t packs) {
  constexpr int64_t kMost = 16 * 132;
  const int64_t wanted = (packs + 255) / 256;
  return static_cast<unsigned>(wanted < kMost ? wanted : kMost);
}

}  // namespace

void residual_norm_cuda(const void* x, const void* h, const float* gain, void* sum, void* y, float* scale, int64_t rows,
                        int64_t channels, const DropoutRows& dropout, bool half, void* cuda_stream) {
  constexpr int64_t kMost = 16 * 132;
  const int64_t wanted = (rows + kWarps - 1) / kWarps;
  const auto grid = static_cast<unsigned>(wanted < kMost ? wanted : kMost);
  dispatch_rows(half, channels, [&](auto type, auto packs) {
    using T = decltype(type);
    norm_kernel<T, decltype(packs)::value><<<grid, kWarps * kWarp, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
        static_cast<const T*>(x), static_cast<const T*>(h), gain, static_cast<T*>(sum), static_cast<T*>(y), scale, rows,
        static_cast<int>(channels), dropout);
  });
  cuda::check_launch("a norm of rows");
}

void residual_norm_gradients_cuda(const void* grad_sum, const void* grad_y, const void* sum, const float* scale,
                                  const float* gain, void* grad_x, void* grad_h, float* partial, float* grad_gain,
                                  int64_t rows, int64_t channels, const DropoutRows& dropout, bool half,
                                  void* cuda_stream) {
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  const auto blocks = static_cast<unsigned>(residual_norm_blocks(rows));
  const int C = static_cast<int>(channels);
  dispatch_rows(half, channels, [&](auto type, auto packs) {
    using T = decltype(type);
    gradients_kernel<T, decltype(packs)::value><<<blocks, kWarps * kWarp, 0, stream>>>(
        static_cast<const T*>(grad_sum), static_cast<const T*>(grad_y), static_cast<const T*>(sum), scale, gain,
        static_cast<T*>(grad_x), static_cast<T*>(grad_h), partial, rows, C, dropout);
  });
  sum_gain_kernel<<<static_cast<unsigned>((C + 31) / 32), dim3(32, 32), 0, stream>>>(partial, grad_gain,
                                                                                     static_cast<int>(blocks), C);
  cuda::check_launch("the gradient of a norm of rows");
}

void gated_cuda(const void* u, void* out, int64_t rows, int64_t width, bool half, void* cuda_stream) {
  const int64_t packs = rows * width / kPack;
  cuda::dispatch(half, false, [&](auto type, auto) {
    using T = decltype(type);
    gated_kernel<T><<<grid_of(packs), 256, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
        static_cast<const T*>(u), static_cast<T*>(out), packs, static_cast<int>(width));
  });
  cuda::check_launch("a gate");
}

void gated_gradient_cuda(const void* grad, const void* u, void* grad_u, int64_t rows, int64_t width, bool half,
                         void* cuda_stream) {
  const int64_t packs = rows * width / kPack;
  cuda::dispatch(half, false, [&](auto type, auto) {
    using T = decltype(type);
    gated_gradient_kernel<T><<<grid_of(packs), 256, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
        static_cast<const T*>(grad), static_cast<const T*>(u), static_cast<T*>(grad_u), packs, static_cast<int>(width));
  });
  cuda::check_launch("the gradient of a gate");
}

}  // namespace segre::kernels::detail
