/*
Copies many tensors at once, converting their types. A launch handles up to kCopies pairs, passed as pointers in its
parameters; each block works on one pair. Definition: kernels::copy_each_plain; tests/kernels/copy_each_test.cpp
compares the two.
*/

#include "segre/kernels/copy_each_parts.h"
#include "segre/kernels/cuda_parts.cuh"

namespace segre::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kPack = 4;  // numbers in one access: neighbouring threads write neighbouring 16 bytes of float32
constexpr int kAtOnce = static_cast<int>(kCopiedPerBlock) / (kThreads * kPack);  // accesses of a thread in flight

__device__ float load_one(const CopyPair& p, int64_t i) {
  switch (p.from_type) {
    case CopiedType::bfloat16:
      return __bfloat162float(static_cast<const cuda::bf16*>(p.from)[i]);
    case CopiedType::boolean:
      return static_cast<const bool*>(p.from)[i] ? 1.0f : 0.0f;
    default:
      return static_cast<const float*>(p.from)[i];
  }
}

__device__ void store_one(const CopyPair& p, int64_t i, float x) {
  if (p.to_type == CopiedType::bfloat16) {
    static_cast<cuda::bf16*>(p.to)[i] = __float2bfloat16_rn(x);
  } else {
    static_cast<float*>(p.to)[i] = x;
  }
}

__device__ void load_pack(const CopyPair& p, int64_t i, float (&x)[kPack]) {
  if (p.from_type == CopiedType::bfloat16) {
    cuda::load<cuda::bf16, kPack>(static_cast<const cuda::bf16*>(p.from) + i).unpack(x);
  } else {
    cuda::load<float, kPack>(static_cast<const float*>(p.from) + i).unpack(x);
  }
}

__device__ bool in_packs(const CopyPair& p) {
  const auto bits = reinterpret_cast<uintptr_t>(p.from) | reinterpret_cast<uintptr_t>(p.to);
  return p.from_type != CopiedType::boolean && bits % sizeof(float4) == 0;
}

// A whole block of numbers: all loads before the first store.
__device__ void copy_block(const CopyPair& p, int64_t first) {
  float x[kAtOnce][kPack];
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) load_pack(p, first + kPack * (kThreads * k + static_cast<int>(threadIdx.x)), x[k]);
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) {
    const int64_t i = first + kPack * (kThreads * k + static_cast<int>(threadIdx.x));
    if (p.to_type == CopiedType::bfloat16) {
      cuda::store_numbers(static_cast<cuda::bf16*>(p.to) + i, x[k]);
    } else {
      cuda::store_numbers(static_cast<float*>(p.to) + i, x[k]);
    }
  }
}

__global__ void copy_kernel(const CopyTable table) {
  const int at = cuda::find_segment(table.first_block, table.count, static_cast<int>(blockIdx.x));
  const CopyPair p = table.pair[at];
  const int64_t first = static_cast<int64_t>(blockIdx.x - table.first_block[at]) * kCopiedPerBlock;
  const int64_t last = min(first + kCopiedPerBlock, p.count);
  if (last - first == kCopiedPerBlock && in_packs(p)) return copy_block(p, first);
  for (int64_t i = first + threadIdx.x; i < last; i += kThreads) store_one(p, i, load_one(p, i));
}

}  // namespace

int launch_copies(const CopyTable& table, void* stream) {
  copy_kernel<<<table.n_blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(table);
  return static_cast<int>(cudaGetLastError());
}

}  // namespace segre::kernels
