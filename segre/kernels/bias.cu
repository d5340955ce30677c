// CUDA twin of bias.cpp for rows [M, C]: each thread owns V neighbouring channels and strides over rows.

#include "segre/kernels/bias_parts.h"
#include "segre/kernels/cuda_parts.cuh"

namespace segre::kernels::detail {
namespace {

using cuda::Lane;
using cuda::Pack;

template <class T, int V>
__global__ void __launch_bounds__(1024)
    add_bias_kernel(const T* h, const T* skip, const float* bias, T* out, int64_t rows, int channels) {
  const Lane<V> lane(channels);
  if (!lane.active) return;
  float shift[V];
#pragma unroll
  for (int i = 0; i < V; ++i) shift[i] = bias[lane.channel + i];
  const int64_t step = int64_t{gridDim.x} * lane.rows;
#pragma unroll 2
  for (int64_t r = int64_t{blockIdx.x} * lane.rows + lane.row; r < rows; r += step) {
    const int64_t at = r * channels + lane.channel;
    float value[V];
    cuda::load<T, V>(h + at).unpack(value);
    if (skip != nullptr) {
      float more[V];
      cuda::load<T, V>(skip + at).unpack(more);
#pragma unroll
      for (int i = 0; i < V; ++i) value[i] += more[i];
    }
#pragma unroll
    for (int i = 0; i < V; ++i) value[i] += shift[i];
    Pack<T, V> pack;
    pack.pack(value);
    cuda::store(out + at, pack);
  }
}

extern __shared__ float4 shared_memory[];

// Row blockIdx.x of `partial` is the sum of this block's rows.
template <class T, int V>
__global__ void __launch_bounds__(1024) column_sum_kernel(const T* x, float* partial, int64_t rows, int channels) {
  float* lanes = reinterpret_cast<float*>(shared_memory);
  float* scratch = lanes + blockDim.x * V;
  const Lane<V> lane(channels);
  float total[V] = {};
  if (lane.active) {
    const int64_t step = int64_t{gridDim.x} * lane.rows;
#pragma unroll 4
    for (int64_t r = int64_t{blockIdx.x} * lane.rows + lane.row; r < rows; r += step) {
      float value[V];
      cuda::load<T, V>(x + r * channels + lane.channel).unpack(value);
#pragma unroll
      for (int i = 0; i < V; ++i) total[i] += value[i];
    }
#pragma unroll
    for (int i = 0; i < V; ++i) lanes[lane.row * channels + lane.channel + i] = total[i];
  }
  cuda::sum_columns(lanes, lane.rows, channels, channels, scratch, partial + int64_t{blockIdx.x} * channels);
}

__global__ void __launch_bounds__(1024) sum_partial_kernel(const float* partial, float* sum, int count, int channels) {
  cuda::sum_tall(partial, count, channels, sum);
}

}  // namespace

void add_bias_cuda(const void* h, const void* skip, const float* bias, void* out, int64_t rows, int64_t channels,
                   bool half, void* cuda_stream) {
  const bool wide = channels % (half ? 8 : 4) == 0 && cuda::aligned(h) && cuda::aligned(skip) && cuda::aligned(out);
  cuda::dispatch(half, wide, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const int columns = static_cast<int>(channels) / V;
    const int threads = cuda::threads_for(columns, 256);
    const int64_t rows_per_block = int64_t{threads / columns} * 4;  // four rows per thread amortise reading the bias
    constexpr int64_t kMaxGrid = 16 * 132;
    const int64_t wanted = (rows + rows_per_block - 1) / rows_per_block;
    const auto grid = static_cast<unsigned>(wanted < kMaxGrid ? wanted : kMaxGrid);
    add_bias_kernel<T, V><<<grid, threads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
        static_cast<const T*>(h), static_cast<const T*>(skip), bias, static_cast<T*>(out), rows,
        static_cast<int>(channels));
  });
  cuda::check_launch("adding a bias");
}

void column_sum_cuda(const void* x, float* partial, float* sum, int64_t rows, int64_t channels, bool half,
                     void* cuda_stream) {
  const bool wide = channels % (half ? 8 : 4) == 0 && cuda::aligned(x);
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  const int C = static_cast<int>(channels);
  const auto blocks = static_cast<unsigned>(column_sum_blocks(rows, channels));
  cuda::dispatch(half, wide, [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int V = decltype(width)::value;
    const int threads = cuda::threads_for(C / V, 256);
    const int scratch = threads > C ? threads : C;
    const size_t bytes = sizeof(float) * (threads * V + scratch);
    column_sum_kernel<T, V><<<blocks, threads, bytes, stream>>>(static_cast<const T*>(x), partial, rows, C);
  });
  sum_partial_kernel<<<static_cast<unsigned>((C + 31) / 32), dim3(32, 32), 0, stream>>>(partial, sum,
                                                                                        static_cast<int>(blocks), C);
  cuda::check_launch("a sum over rows");
}

}  // namespace segre::kernels::detail
