#pragma once  // internal

#include <cstdint>

// The interface between copy_each.cpp and copy_each.cu: pairs of tensors in kernel parameters.

namespace segre::kernels {

/// Pairs per launch. A table of 100 fits into the 4 kB available to the parameters of any kernel.
inline constexpr int kCopies = 100;
/// Tensor elements per block.
inline constexpr int64_t kCopiedPerBlock = 4096;

enum class CopiedType : uint8_t { float32, bfloat16, boolean };

struct CopyPair {
  const void* from;
  void* to;
  int64_t count;
  CopiedType from_type;
  CopiedType to_type;
};

struct CopyTable {
  CopyPair pair[kCopies];
  int first_block[kCopies];
  int count;
  int n_blocks;
};
static_assert(sizeof(CopyTable) <= 4000);

/// Returns a cudaError_t.
int launch_copies(const CopyTable& table, void* stream);

}  // namespace segre::kernels
