// The CUDA kernels of column_tokens.cpp. All of them are limited by reading or writing the tokens [B, n, d] once: a
// thread has packs of 16 bytes of them, and uses each weight that it loads for several items.

#include "segre/kernels/column_tokens_parts.h"
#include "segre/kernels/cuda_parts.cuh"

namespace segre::kernels::detail {
namespace {

using cuda::bf16;
using cuda::load;
using cuda::Pack;
using cuda::store;

constexpr int kWarp = 32;
constexpr int kThreads = 256;  // per block
constexpr int kWarps = kThreads / kWarp;
constexpr int kItems = 4;  // of a thread at a time, which share the weights it loads

// Tokens and sums over items: a block has one column and 16 packs of its channels, and 16 groups of threads share the
// items.
constexpr int kSlice = 16;  // packs
constexpr int kGroups = kThreads / kSlice;
constexpr int kStaged = kItems * kGroups;  // items at a time
static_assert(kWarp == 2 * kSlice, "a warp has two groups");

constexpr int kMostRows = 2 * 32 + 2;  // of a column with 32 labels, see Rows

constexpr int64_t kMostChunks = 65535;  // the largest second or third dimension of a grid

struct Sizes {
  int items, columns, labels, channels, most_labels;
  const int64_t* starts;
};

struct Column {
  int first, count;  // labels
};

__device__ inline Column column_of(const Sizes& sizes, int i) {
  if (sizes.starts == nullptr) return {i * sizes.most_labels, sizes.most_labels};
  const int first = static_cast<int>(sizes.starts[i]);
  const int end = i + 1 < sizes.columns ? static_cast<int>(sizes.starts[i + 1]) : sizes.labels;
  return {first, end - first};
}

// Adds factor * values to the sums.
template <int V>
__device__ inline void add(float (&to)[V], float factor, const float (&values)[V]) {
#pragma unroll
  for (int v = 0; v < V; ++v) to[v] = fmaf(factor, values[v], to[v]);
}

template <class T, int V>
__device__ inline void load_values(const T* at, float (&to)[V]) {
  load<T, V>(at).unpack(to);
}

// The rows of a column's weights: its labels, their evidence, the strength and the position.
struct Rows {
  Column column;
  bool evidence, strength;
  __device__ Rows(const Sizes& sizes, const SeenColumns& seen, int i)
      : column(column_of(sizes, i)), evidence(seen.evidence != nullptr), strength(seen.strength != nullptr) {}
  __device__ int of_labels() const { return evidence ? 2 * column.count : column.count; }
  __device__ int count() const { return of_labels() + (strength ? 2 : 0); }
};

// What a row is multiplied with in item b.
__device__ inline float factor_of(const Sizes& sizes, const SeenColumns& seen, const Rows& rows, int i, int64_t b,
                                  int row) {
  const int64_t at = b * sizes.labels + rows.column.first;
  if (row < rows.column.count) return seen.point[at + row];
  if (row < rows.of_labels()) return seen.evidence[at + row - rows.column.count];
  return row == rows.of_labels() ? log1pf(seen.strength[b * sizes.columns + i]) : 1.0f;
}

// Copies the factors of `count` rows for the kStaged items from `from` on to shared memory; 0 past the last ones.
__device__ inline void stage(float (*factors)[kStaged], const Sizes& sizes, const SeenColumns& seen, const Rows& rows,
                             int i, int from, int first_row, int count) {
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < kStaged * count; k += kThreads) {
    const int b = from + k % kStaged;
    const int row = first_row + k / kStaged;
    factors[k / kStaged][k % kStaged] =
        b < sizes.items && row < rows.count() ? factor_of(sizes, seen, rows, i, b, row) : 0.0f;
  }
  __syncthreads();
}

// The staged factors of a group's items.
__device__ inline void load_factors(const float (&of_row)[kStaged], int group, float (&to)[kItems]) {
  static_assert(kItems == 4, "one load of 16 bytes");
  load<float, 4>(of_row + group * kItems).unpack(to);
}

// Where a row of the weights is.
template <class T>
__device__ inline const T* row_at(const Sizes& sizes, const Rows& rows, int i, int row, const OfColumns<const T*>& of) {
  const int64_t d = sizes.channels;
  const int first = rows.column.first;
  if (row < rows.column.count) return of.labels + (first + row) * d;
  if (row < rows.of_labels()) return of.evidence + (first + row - rows.column.count) * d;
  return row == rows.of_labels() ? of.strength : of.position + i * d;
}

// A thread has one pack of channels of the column, for each item of its group.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    tokens_kernel(Sizes sizes, SeenColumns seen, OfColumns<const T*> weights, T* tokens) {
  __shared__ __align__(16) float factors[kMostRows][kStaged];
  const int i = static_cast<int>(blockIdx.x);
  const int group = static_cast<int>(threadIdx.x) / kSlice;
  const int channel = static_cast<int>(blockIdx.y * kSlice + threadIdx.x % kSlice) * V;
  const Rows rows(sizes, seen, i);
  const int count = rows.count();
  for (int64_t from = int64_t{blockIdx.z} * kStaged; from < sizes.items; from += int64_t{gridDim.z} * kStaged) {
    stage(factors, sizes, seen, rows, i, static_cast<int>(from), 0, count);
    if (channel >= sizes.channels) continue;
    float sum[kItems][V] = {};
#pragma unroll 2
    for (int row = 0; row < count; ++row) {
      float weight[V], factor[kItems];
      load_values<T, V>(row_at(sizes, rows, i, row, weights) + channel, weight);
      load_factors(factors[row], group, factor);
#pragma unroll
      for (int k = 0; k < kItems; ++k) add(sum[k], factor[k], weight);
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int64_t b = from + group * kItems + k;
      if (b >= sizes.items) break;
      Pack<T, V> out;
      out.pack(sum[k]);
      store<T, V>(tokens + (b * sizes.columns + i) * sizes.channels + channel, out);
    }
  }
}

__device__ inline void put(float* to, float value) { *to = value; }
__device__ inline void put(bf16* to, float value) { *to = __float2bfloat16_rn(value); }

// Stores one number of a row where it belongs.
template <class T>
__device__ inline void put_row(const Sizes& sizes, const Rows& rows, int i, int row, int channel, float value,
                               const OfColumns<T*>& sums, float* partial) {
  const int64_t d = sizes.channels;
  const int first = rows.column.first;
  if (row < rows.column.count)
    put(sums.labels + (first + row) * d + channel, value);
  else if (row < rows.of_labels())
    put(sums.evidence + (first + row - rows.column.count) * d + channel, value);
  else if (row == rows.of_labels())
    partial[i * d + channel] = value;
  else
    put(sums.position + i * d + channel, value);
}

// Adds the sums of the two groups in a warp and stores them at to[kSlice * V]: each lane has one half of its pack, the
// first group the first half. All first halves come first, or lanes would wait for each other's memory bank.
template <int V>
__device__ inline void put_halves(const float (&sum)[V], int lane, float* to) {
  constexpr int kHalf = V / 2;
  const bool upper = lane >= kSlice;
  float half[kHalf];
#pragma unroll
  for (int v = 0; v < kHalf; ++v) {
    const float other = __shfl_xor_sync(0xffffffffu, upper ? sum[v] : sum[v + kHalf], kSlice);
    half[v] = (upper ? sum[v + kHalf] : sum[v]) + other;
  }
  if constexpr (kHalf == 4)
    *reinterpret_cast<float4*>(to + lane * kHalf) = make_float4(half[0], half[1], half[2], half[3]);
  else
    *reinterpret_cast<float2*>(to + lane * kHalf) = make_float2(half[0], half[1]);
}

// The channel in the slice of a number that put_halves stored.
template <int V>
__device__ inline int channel_at(int at) {
  constexpr int kHalf = V / 2;
  const int lane = at / kHalf;
  return lane % kSlice * V + lane / kSlice * kHalf + at % kHalf;
}

// A block has R rows of the gradients of one column, in one slice of the channels. A group's items are summed by its
// threads, the sums of both groups by their warp, and those of the warps in turn.
template <class T, int V, int R>
__global__ void __launch_bounds__(kThreads)
    sums_kernel(Sizes sizes, SeenColumns seen, const T* grad, OfColumns<T*> sums, float* partial, float* total) {
  constexpr int kChannels = kSlice * V;
  __shared__ __align__(16) float factors[R][kStaged];
  __shared__ __align__(16) float parts[kWarps][R][kChannels];
  const int thread = static_cast<int>(threadIdx.x);
  const int i = static_cast<int>(blockIdx.x);
  const int first_row = static_cast<int>(blockIdx.z) * R;
  const int first_channel = static_cast<int>(blockIdx.y) * kChannels;
  const Rows rows(sizes, seen, i);
  if (first_row >= rows.count()) return;
  const int group = thread / kSlice;
  const int channel = first_channel + thread % kSlice * V;
  float sum[R][V] = {};
  float of_factors = 0.0f;  // of the row numbered as the thread
  for (int from = 0; from < sizes.items; from += kStaged) {
    Pack<T, V> read[kItems] = {};  // before the factors, which take as long to arrive
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int64_t b = from + group * kItems + k;
      if (b < sizes.items && channel < sizes.channels)
        read[k] = load<T, V>(grad + (b * sizes.columns + i) * sizes.channels + channel);
    }
    stage(factors, sizes, seen, rows, i, from, first_row, R);
    float values[kItems][V];
#pragma unroll
    for (int k = 0; k < kItems; ++k) read[k].unpack(values[k]);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      float factor[kItems];
      load_factors(factors[r], group, factor);
#pragma unroll
      for (int k = 0; k < kItems; ++k) add(sum[r], factor[k], values[k]);
    }
    if (total != nullptr && blockIdx.y == 0 && thread < R) {
#pragma unroll 8
      for (int k = 0; k < kStaged; ++k) of_factors += factors[thread][k];
    }
  }
  if (total != nullptr && blockIdx.y == 0 && thread < R && first_row + thread < rows.column.count)
    total[rows.column.first + first_row + thread] = of_factors;
#pragma unroll
  for (int r = 0; r < R; ++r) put_halves(sum[r], thread % kWarp, parts[thread / kWarp][r]);
  __syncthreads();
  for (int k = thread; k < R * kChannels; k += kThreads) {
    const int row = first_row + k / kChannels;
    const int to = first_channel + channel_at<V>(k % kChannels);
    if (row >= rows.count() || to >= sizes.channels) continue;
    float all = 0.0f;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) all += parts[warp][k / kChannels][k % kChannels];
    put_row(sizes, rows, i, row, to, all, sums, partial);
  }
}

// The strength's gradient: the sum of partial [n, d] over the columns, 32 channels per block.
template <class T>
__global__ void __launch_bounds__(1024) strength_kernel(const float* partial, int columns, int channels, T* sum) {
  __shared__ float scratch[1024];
  __shared__ float total[kWarp];
  const int first = static_cast<int>(blockIdx.x) * kWarp;
  const int count = channels - first < kWarp ? channels - first : kWarp;
  cuda::sum_columns(partial + first, columns, channels, count, scratch, total);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < count) put(sum + first + thread, total[thread]);
}

// Sums each of N numbers, a power of two, over the lanes of a warp; returns number lane % N. Each step halves the
// numbers that a lane is in charge of, so that this takes about as many shuffles as there are numbers.
template <int N>
__device__ inline float sum_over_lanes(float (&numbers)[N], int lane) {
#pragma unroll
  for (int half = N / 2; half > 0; half /= 2) {
    const bool upper = (lane & half) != 0;
#pragma unroll
    for (int k = 0; k < half; ++k) {
      const float sent = upper ? numbers[k] : numbers[k + half];
      const float kept = upper ? numbers[k + half] : numbers[k];
      numbers[k] = kept + __shfl_xor_sync(0xffffffffu, sent, half);
    }
  }
  float sum = numbers[0];
#pragma unroll
  for (int offset = N; offset < kWarp; offset *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  return sum;
}

// The items of a chunk; those past the last one repeat it and are not stored.
struct Items {
  int64_t at[kItems];
  int count;
  __device__ Items(const Sizes& sizes, int chunk) {
    const int first = chunk * kItems;
    count = sizes.items - first;
#pragma unroll
    for (int k = 0; k < kItems; ++k) at[k] = k < count ? first + k : sizes.items - 1;
  }
};

// A warp has J labels of one column, for all items of a chunk.
template <class T, int V, int J>
__global__ void __launch_bounds__(kThreads)
    logits_kernel(Sizes sizes, const T* y, const T* labels, const float* bias, float* logits) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int i = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / kWarp);
  if (i >= sizes.columns) return;
  const Column column = column_of(sizes, i);
  const int first = static_cast<int>(blockIdx.z) * J;
  if (first >= column.count) return;
  const int64_t d = sizes.channels;
  for (int chunk = static_cast<int>(blockIdx.y); chunk * int64_t{kItems} < sizes.items; chunk += gridDim.y) {
    const Items items(sizes, chunk);
    float sum[kItems * J] = {};
#pragma unroll 1
    for (int channel = lane * V; channel < sizes.channels; channel += kWarp * V) {
      Pack<T, V> tokens[kItems];
      Pack<T, V> weights[J];
#pragma unroll
      for (int k = 0; k < kItems; ++k) tokens[k] = load<T, V>(y + (items.at[k] * sizes.columns + i) * d + channel);
#pragma unroll
      for (int j = 0; j < J; ++j) {
        const int label = first + j < column.count ? first + j : column.count - 1;
        weights[j] = load<T, V>(labels + (column.first + label) * d + channel);
      }
#pragma unroll
      for (int j = 0; j < J; ++j) {
        float weight[V];
        weights[j].unpack(weight);
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
          float token[V];
          tokens[k].unpack(token);
#pragma unroll
          for (int v = 0; v < V; ++v) sum[k * J + j] = fmaf(token[v], weight[v], sum[k * J + j]);
        }
      }
    }
    const float logit = sum_over_lanes(sum, lane);
    const int k = lane / J;
    const int label = first + lane % J;
    if (k < kItems && k < items.count && label < column.count) {
      const int64_t at = column.first + label;
      logits[(int64_t{chunk} * kItems + k) * sizes.labels + at] = logit + bias[at];
    }
  }
}

Sizes sizes_of(const ColumnSizes& sizes) {
  return {static_cast<int>(sizes.items),    static_cast<int>(sizes.columns),     static_cast<int>(sizes.labels),
          static_cast<int>(sizes.channels), static_cast<int>(sizes.most_labels), sizes.starts};
}

unsigned chunks_of(int64_t items, int64_t per_chunk) {
  const int64_t chunks = (items + per_chunk - 1) / per_chunk;
  return static_cast<unsigned>(chunks < kMostChunks ? chunks : kMostChunks);
}

unsigned blocks_of(int64_t count, int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

// Calls run(T{}) with T = bf16 if `half`, else float.
template <class Run>
void dispatch_type(bool half, const Run& run) {
  half ? run(bf16{}) : run(float{});
}

// Calls run(integral_constant R) with the least number of rows per block that is enough for all, or 8.
template <class Run>
void dispatch_rows(int64_t rows, const Run& run) {
  if (rows <= 2) return run(std::integral_constant<int, 2>{});
  if (rows <= 4) return run(std::integral_constant<int, 4>{});
  if (rows <= 6) return run(std::integral_constant<int, 6>{});
  run(std::integral_constant<int, 8>{});
}

template <class To, class Pointer>
OfColumns<To> cast(const OfColumns<Pointer>& from) {
  return {static_cast<To>(from.labels), static_cast<To>(from.evidence), static_cast<To>(from.strength),
          static_cast<To>(from.position)};
}

}  // namespace

void column_tokens_cuda(const ColumnSizes& sizes, const SeenColumns& seen, const OfColumns<const void*>& weights,
                        void* tokens, bool half, void* cuda_stream) {
  dispatch_type(half, [&](auto type) {
    using T = decltype(type);
    constexpr int V = cuda::kWidest<T>;
    const dim3 grid(static_cast<unsigned>(sizes.columns), blocks_of(sizes.channels, kSlice * V),
                    chunks_of(sizes.items, kStaged));
    tokens_kernel<T, V><<<grid, kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
        sizes_of(sizes), seen, cast<const T*>(weights), static_cast<T*>(tokens));
  });
  cuda::check_launch("the tokens of columns");
}

void column_sums_cuda(const ColumnSizes& sizes, const SeenColumns& seen, const void* grad, const OfColumns<void*>& sums,
                      float* partial, float* total, bool half, void* cuda_stream) {
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  const int64_t rows = sizes.most_labels * (seen.evidence != nullptr ? 2 : 1) + (seen.strength != nullptr ? 2 : 0);
  dispatch_type(half, [&](auto type) {
    using T = decltype(type);
    constexpr int V = cuda::kWidest<T>;
    dispatch_rows(rows, [&](auto per_block) {
      constexpr int R = decltype(per_block)::value;
      const dim3 grid(static_cast<unsigned>(sizes.columns), blocks_of(sizes.channels, kSlice * V), blocks_of(rows, R));
      sums_kernel<T, V, R><<<grid, kThreads, 0, stream>>>(sizes_of(sizes), seen, static_cast<const T*>(grad),
                                                          cast<T*>(sums), partial, total);
    });
    if (seen.strength == nullptr) return;
    strength_kernel<T><<<blocks_of(sizes.channels, kWarp), 1024, 0, stream>>>(
        partial, static_cast<int>(sizes.columns), static_cast<int>(sizes.channels), static_cast<T*>(sums.strength));
  });
  cuda::check_launch("the gradient of the tokens of columns");
}

void column_logits_cuda(const ColumnSizes& sizes, const void* y, const void* labels, const float* bias, float* logits,
                        bool half, void* cuda_stream) {
  dispatch_type(half, [&](auto type) {
    using T = decltype(type);
    const auto run = [&](auto at_once) {
      constexpr int J = decltype(at_once)::value;
      const dim3 grid(blocks_of(sizes.columns, kWarps), chunks_of(sizes.items, kItems),
                      blocks_of(sizes.most_labels, J));
      logits_kernel<T, cuda::kWidest<T>, J><<<grid, kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
          sizes_of(sizes), static_cast<const T*>(y), static_cast<const T*>(labels), bias, logits);
    };
    sizes.most_labels <= 2 ? run(std::integral_constant<int, 2>{}) : run(std::integral_constant<int, 4>{});
  });
  cuda::check_launch("the logits of columns");
}

}  // namespace segre::kernels::detail
