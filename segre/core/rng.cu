// CUDA twin of rng.cpp: the same numbers, bit for bit (tests/core/rng_test.cpp compares them). One thread per
// Philox block of four numbers. Compiled with --fmad=false: a contracted multiply-add would round differently.

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "segre/core/philox.h"

namespace segre::detail {

enum class Draw { normal, uniform };

namespace {

// first_index is passed by value, or read from `where` if that is not null.
__global__ void fill_kernel(float* out, int64_t count, bool normal, uint64_t seed, uint64_t stream,
                            uint64_t first_index, const int64_t* where) {
  if (where != nullptr) first_index = static_cast<uint64_t>(*where);
  const uint64_t first_block = first_index / 4;
  const uint64_t n_blocks = (first_index + static_cast<uint64_t>(count) + 3) / 4 - first_block;
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t b = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; b < n_blocks; b += stride) {
    const philox::Block words = philox::block(seed, stream, first_block + b);
    float number[4];
    if (normal) {
      philox::normal_pair(words.word[0], words.word[1], number[0], number[1]);
      philox::normal_pair(words.word[2], words.word[3], number[2], number[3]);
    } else {
      for (int k = 0; k < 4; ++k) number[k] = philox::uniform(words.word[k]);
    }
    for (int k = 0; k < 4; ++k) {
      const int64_t at = static_cast<int64_t>(4 * (first_block + b) + k - first_index);
      if (at >= 0 && at < count) out[at] = number[k];
    }
  }
}

}  // namespace

void fill_cuda(float* out, int64_t count, Draw draw, uint64_t seed, uint64_t stream, uint64_t first_index,
               const int64_t* where, void* cuda_stream) {
  if (count == 0) return;
  constexpr int kThreads = 256;
  constexpr int64_t kMaxGrid = 4096;
  const int64_t wanted = (count / 4 + kThreads) / kThreads;
  const int grid = static_cast<int>(wanted < kMaxGrid ? wanted : kMaxGrid);
  fill_kernel<<<grid, kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(out, count, draw == Draw::normal, seed,
                                                                             stream, first_index, where);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string("random numbers on CUDA: ") + cudaGetErrorString(error));
}

}  // namespace segre::detail
