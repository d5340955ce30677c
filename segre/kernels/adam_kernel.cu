/*
Adam with weight averaging on many tensors at once (see Adam for the formula), and the sum of their squared gradients.

A launch handles up to kSegments tensors, passed as pointers in its parameters; each block works on one segment. The
step's numbers, the gradient scale and the go flag are read from device memory, so a captured graph sees their current
values. Definition: kernels::adam_plain_; tests/kernels/adam_cuda_test.cpp compares the two.
*/

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "segre/kernels/adam_segments.h"
#include "segre/kernels/cuda_parts.cuh"

namespace segre::kernels {
namespace {

constexpr int kThreads = 256;

__device__ float load_gradient(const SegmentPointers& s, int64_t i) {
  return s.gradient_is_bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(s.gradient)[i])
                            : static_cast<const float*>(s.gradient)[i];
}

// The numbers of a step, see kernels::adam_numbers.
struct StepNumbers {
  float beta1, rest1, beta2, rest2, eps, rate, inverse_root, keep, fresh;
  __device__ explicit StepNumbers(const float* at)
      : beta1(at[0]),
        rest1(at[1]),
        beta2(at[2]),
        rest2(at[3]),
        eps(at[4]),
        rate(at[5]),
        inverse_root(at[6]),
        keep(at[7]),
        fresh(at[8]) {}
  __device__ void update(float g, float& m, float& v, float& w, float& average) const {
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * (g * g);
    w = w - rate * m / (sqrtf(v) * inverse_root + eps);
    average = keep * average + fresh * w;
  }
};

__device__ void update_one(const SegmentPointers& s, const StepNumbers& step, float scale, int64_t i) {
  step.update(load_gradient(s, i) * scale, s.m[i], s.v[i], s.weight[i], s.average[i]);
  if (s.shadow != nullptr) static_cast<__nv_bfloat16*>(s.shadow)[i] = __float2bfloat16(s.weight[i]);
}

// Four numbers in one access each.
constexpr int kPack = 4;

__device__ void load_gradients(const SegmentPointers& s, int64_t i, float (&g)[kPack]) {
  if (s.gradient_is_bf16) {
    cuda::load<cuda::bf16, kPack>(static_cast<const cuda::bf16*>(s.gradient) + i).unpack(g);
  } else {
    cuda::load<float, kPack>(static_cast<const float*>(s.gradient) + i).unpack(g);
  }
}

__device__ void update_pack(const SegmentPointers& s, const StepNumbers& step, float scale, int64_t i) {
  float g[kPack], m[kPack], v[kPack], w[kPack], average[kPack];
  load_gradients(s, i, g);
  cuda::load<float, kPack>(s.m + i).unpack(m);
  cuda::load<float, kPack>(s.v + i).unpack(v);
  cuda::load<float, kPack>(s.weight + i).unpack(w);
  cuda::load<float, kPack>(s.average + i).unpack(average);
#pragma unroll
  for (int k = 0; k < kPack; ++k) step.update(g[k] * scale, m[k], v[k], w[k], average[k]);
  cuda::store_numbers(s.m + i, m);
  cuda::store_numbers(s.v + i, v);
  cuda::store_numbers(s.weight + i, w);
  cuda::store_numbers(s.average + i, average);
  if (s.shadow != nullptr) cuda::store_numbers(static_cast<cuda::bf16*>(s.shadow) + i, w);
}

__device__ bool in_packs(const SegmentPointers& s) {
  const auto bits = reinterpret_cast<uintptr_t>(s.m) | reinterpret_cast<uintptr_t>(s.v) |
                    reinterpret_cast<uintptr_t>(s.weight) | reinterpret_cast<uintptr_t>(s.average) |
                    reinterpret_cast<uintptr_t>(s.gradient) | reinterpret_cast<uintptr_t>(s.shadow);
  return bits % sizeof(float4) == 0;
}

__global__ void adam_kernel(const SegmentTable table, const float* numbers, const float* scale, const float* go) {
  if (*go == 0.0f) return;
  const int at = cuda::find_segment(table.first_block, table.count, static_cast<int>(blockIdx.x));
  const SegmentPointers s = table.segment[at];
  const int64_t first = static_cast<int64_t>(blockIdx.x - table.first_block[at]) * kElementsPerBlock;
  const int64_t last = min(first + kElementsPerBlock, s.count);
  const StepNumbers step(numbers);
  const int64_t in_fours = in_packs(s) ? first + (last - first) / kPack * kPack : first;
  for (int64_t i = first + kPack * threadIdx.x; i < in_fours; i += kPack * kThreads) update_pack(s, step, *scale, i);
  for (int64_t i = in_fours + threadIdx.x; i < last; i += kThreads) update_one(s, step, *scale, i);
}

// Sums one number per thread over the block in a fixed order; thread 0 gets the result.
__device__ float block_sum(float x) {
  __shared__ float warp[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_down_sync(0xffffffffu, x, offset);
  if (threadIdx.x % 32 == 0) warp[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 1; k < kThreads / 32; ++k) x += warp[k];
  return x;
}

__global__ void squares_kernel(const SegmentTable table, float* partial) {
  const int at = cuda::find_segment(table.first_block, table.count, static_cast<int>(blockIdx.x));
  const SegmentPointers s = table.segment[at];
  const int64_t first = static_cast<int64_t>(blockIdx.x - table.first_block[at]) * kElementsPerBlock;
  const int64_t last = min(first + kElementsPerBlock, s.count);
  float sum = 0.0f;
  for (int64_t i = first + threadIdx.x; i < last; i += kThreads) {
    const float g = load_gradient(s, i);
    sum += g * g;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void total_kernel(const float* partial, int count, float* total) {
  float sum = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total = sum;
}

}  // namespace

int launch_adam(const SegmentTable& table, const float* numbers, const float* scale, const float* go, void* stream) {
  adam_kernel<<<table.n_blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(table, numbers, scale, go);
  return static_cast<int>(cudaGetLastError());
}

int launch_squares(const SegmentTable& table, float* partial, void* stream) {
  squares_kernel<<<table.n_blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(table, partial);
  return static_cast<int>(cudaGetLastError());
}

int launch_total(const float* partial, int count, float* total, void* stream) {
  total_kernel<<<1, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(partial, count, total);
  return static_cast<int>(cudaGetLastError());
}

}  // namespace segre::kernels
