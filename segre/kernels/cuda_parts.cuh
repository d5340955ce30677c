#pragma once

// Shared by the CUDA kernels: loads and stores of several numbers at once, column sums in a fixed order, and launching.
// Everything is computed in float32; fused multiply-adds are explicit (fmaf) because the project disables the
// compiler's own (CMakeLists.txt).

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace segre::kernels::cuda {

using bf16 = __nv_bfloat16;

/// V consecutive numbers of type T: 4 or 8 float, 4 or 8 bf16, or a single number.
template <class T, int V>
struct Pack;

template <>
struct Pack<float, 1> {
  float raw;
  __device__ void unpack(float (&to)[1]) const { to[0] = raw; }
  __device__ void pack(const float (&from)[1]) { raw = from[0]; }
};

template <>
struct Pack<float, 4> {
  float4 raw;
  __device__ void unpack(float (&to)[4]) const {
    to[0] = raw.x;
    to[1] = raw.y;
    to[2] = raw.z;
    to[3] = raw.w;
  }
  __device__ void pack(const float (&from)[4]) { raw = make_float4(from[0], from[1], from[2], from[3]); }
};

template <>
struct Pack<float, 8> {
  struct Two {
    float4 low, high;
  } raw;
  __device__ void unpack(float (&to)[8]) const {
    to[0] = raw.low.x, to[1] = raw.low.y, to[2] = raw.low.z, to[3] = raw.low.w;
    to[4] = raw.high.x, to[5] = raw.high.y, to[6] = raw.high.z, to[7] = raw.high.w;
  }
  __device__ void pack(const float (&from)[8]) {
    raw.low = make_float4(from[0], from[1], from[2], from[3]);
    raw.high = make_float4(from[4], from[5], from[6], from[7]);
  }
};

template <>
struct Pack<bf16, 1> {
  bf16 raw;
  __device__ void unpack(float (&to)[1]) const { to[0] = __bfloat162float(raw); }
  __device__ void pack(const float (&from)[1]) { raw = __float2bfloat16_rn(from[0]); }
};

// A bfloat16 is the upper half of a float32; the first of a pair is in the lower half of the word.
__device__ inline void split_pair(unsigned word, float& first, float& second) {
  first = __uint_as_float(word << 16);
  second = __uint_as_float(word & 0xffff0000u);
}
__device__ inline unsigned join_pair(float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<const unsigned*>(&pair);
}

template <>
struct Pack<bf16, 4> {
  uint2 raw;
  __device__ void unpack(float (&to)[4]) const {
    split_pair(raw.x, to[0], to[1]);
    split_pair(raw.y, to[2], to[3]);
  }
  __device__ void pack(const float (&from)[4]) {
    raw.x = join_pair(from[0], from[1]);
    raw.y = join_pair(from[2], from[3]);
  }
};

template <>
struct Pack<bf16, 8> {
  uint4 raw;
  __device__ void unpack(float (&to)[8]) const {
    split_pair(raw.x, to[0], to[1]);
    split_pair(raw.y, to[2], to[3]);
    split_pair(raw.z, to[4], to[5]);
    split_pair(raw.w, to[6], to[7]);
  }
  __device__ void pack(const float (&from)[8]) {
    raw.x = join_pair(from[0], from[1]);
    raw.y = join_pair(from[2], from[3]);
    raw.z = join_pair(from[4], from[5]);
    raw.w = join_pair(from[6], from[7]);
  }
};

/// The widest pack of T: 16 bytes.
template <class T>
inline constexpr int kWidest = 16 / static_cast<int>(sizeof(T));

/// `at` must be aligned to the pack's size.
template <class T, int V>
__device__ inline Pack<T, V> load(const T* at) {
  return {*reinterpret_cast<const decltype(Pack<T, V>::raw)*>(at)};
}
template <class T, int V>
__device__ inline void store(T* at, const Pack<T, V>& pack) {
  *reinterpret_cast<decltype(Pack<T, V>::raw)*>(at) = pack.raw;
}

/// Packs V numbers and stores them.
template <class T, int V>
__device__ inline void store_numbers(T* at, const float (&x)[V]) {
  Pack<T, V> pack;
  pack.pack(x);
  store(at, pack);
}

/// The tensor that `block` works on, of `count`, in a launch over many; first_block [count] is ascending.
__device__ inline int find_segment(const int* first_block, int count, int block) {
  int low = 0;
  int high = count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (first_block[middle] <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// The thread's share in a block that works on rows of `channels` numbers: V of them, starting at `channel`, in rows
/// `row`, row + rows, ...
template <int V>
struct Lane {
  int channel, row, rows;
  bool active;  ///< false for the threads left over if the rows do not fill the block
  __device__ explicit Lane(int channels) {
    const int columns = channels / V;
    const int thread = static_cast<int>(threadIdx.x);
    rows = static_cast<int>(blockDim.x) / columns;
    row = thread / columns;
    channel = (thread % columns) * V;
    active = row < rows;
  }
};

/// total[c] = sum over k < count of from[k * stride + c], for all c < columns, by all threads of the block in an order
/// fixed by the block size. `from` and `total` are in global or shared memory; `scratch` is shared memory for at least
/// max(columns, blockDim.x) floats. Starts and ends with a barrier, so `from` may be written just before and `total`
/// read right after.
__device__ inline void sum_columns(const float* from, int count, int stride, int columns, float* scratch,
                                   float* total) {
  __syncthreads();
  const int threads = static_cast<int>(blockDim.x);
  int parts = threads / columns;
  parts = parts < 1 ? 1 : (parts > count ? count : parts);
  for (int t = static_cast<int>(threadIdx.x); t < parts * columns; t += threads) {
    const int c = t % columns;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = t / columns; k < count; k += parts) sum += from[k * stride + c];
    scratch[t] = sum;
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < columns; c += threads) {
    float sum = scratch[c];
    for (int k = 1; k < parts; ++k) sum += scratch[k * columns + c];
    total[c] = sum;
  }
  __syncthreads();
}

/// sum[c] = sum over k < count of from[k * columns + c] for the 32 columns starting at 32 * blockIdx.x, in a fixed
/// order. Needs a block of 32 x 32 threads.
__device__ inline void sum_tall(const float* from, int count, int columns, float* sum) {
  __shared__ float tile[32][33];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int first = static_cast<int>(blockIdx.x) * 32;
  float part = 0.0f;
  if (first + x < columns) {
#pragma unroll 4
    for (int k = y; k < count; k += 32) part += from[int64_t{k} * columns + first + x];
  }
  tile[y][x] = part;
  __syncthreads();
  float total = tile[x][y];  // the warp now has the 32 parts of column `y`
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffffu, total, offset);
  if (x == 0 && first + y < columns) sum[first + y] = total;
}

/// Whether a pointer is aligned to 16 bytes; true for null.
inline bool aligned(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }

/// Calls run(T{}, integral_constant V) with T = bf16 if `half`, else float; V = the widest pack if `wide`, else 1.
template <class Run>
void dispatch(bool half, bool wide, const Run& run) {
  const auto with_type = [&](auto type) {
    using T = decltype(type);
    wide ? run(type, std::integral_constant<int, kWidest<T>>{}) : run(type, std::integral_constant<int, 1>{});
  };
  half ? with_type(bf16{}) : with_type(float{});
}

/// Threads per block: `least`, doubled until there is one for each column of packs.
inline int threads_for(int columns, int least) {
  int threads = least;
  while (threads < columns) threads *= 2;
  return threads;
}

/// Throws std::runtime_error if the last launch failed.
inline void check_launch(const char* what) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string(what) + " on CUDA: " + cudaGetErrorString(error));
}

}  // namespace segre::kernels::cuda
