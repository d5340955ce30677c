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

namespace segre::kernels {
namespace {

constexpr int kThreads = 256;

__device__ float load_gradient(const SegmentPointers& s, int64_t i) {
  return s.gradient_is_bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(s.gradient)[i])
                            : static_cast<const float*>(s.gradient)[i];
}

// The segment that `block` belongs to; first_block is ascending.
__device__ int find_segment(const SegmentTable& table, int block) {
  int low = 0;
  int high = table.count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (table.first_block[middle] <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__global__ void adam_kernel(const SegmentTable table, const float* numbers, const float* scale, const float* go) {
  if (*go == 0.0f) return;
  const int at = find_segment(table, static_cast<int>(blockIdx.x));
  const SegmentPointers s = table.segment[at];
  const int64_t first = static_cast<int64_t>(blockIdx.x - table.first_block[at]) * kElementsPerBlock;
  const int64_t last = min(first + kElementsPerBlock, s.count);
  const float beta1 = numbers[0], rest1 = numbers[1];
  const float beta2 = numbers[2], rest2 = numbers[3];
  const float eps = numbers[4], rate = numbers[5], inverse_root = numbers[6];
  const float keep = numbers[7], fresh = numbers[8];
  for (int64_t i = first + threadIdx.x; i < last; i += kThreads) {
    const float g = load_gradient(s, i) * *scale;
    const float m = beta1 * s.m[i] + rest1 * g;
    const float v = beta2 * s.v[i] + rest2 * (g * g);
    const float w = s.weight[i] - rate * m / (sqrtf(v) * inverse_root + eps);
    s.m[i] = m;
    s.v[i] = v;
    s.weight[i] = w;
    s.average[i] = keep * s.average[i] + fresh * w;
    if (s.shadow != nullptr) static_cast<__nv_bfloat16*>(s.shadow)[i] = __float2bfloat16(w);
  }
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
  const int at = find_segment(table, static_cast<int>(blockIdx.x));
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
