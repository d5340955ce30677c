#pragma once

#include <unistd.h>

#include <fstream>

#include "segre/data/dataset.h"
#include "segre/io/mapped_file.h"
#include "tests/support/support.h"

// Data in mapped files, and how much memory they take.

namespace segre::test {

/// A tensor with the same contents in a mapped file.
inline torch::Tensor mapped(const torch::Tensor& tensor) {
  const ScratchFolder folder;  // the mapping outlives the file's name
  const auto packed = tensor.contiguous();
  write_text(folder / "x", std::string(static_cast<const char*>(packed.const_data_ptr()), packed.nbytes()));
  return MappedFile::view(std::make_shared<const MappedFile>(folder / "x"), 0, packed.sizes(), packed.scalar_type());
}

/// A dataset with its labels in a mapped file.
inline Dataset mapped(Dataset dataset) {
  dataset.labels = mapped(dataset.labels);
  return dataset;
}

/// The part of this process's memory that is in RAM, in bytes.
inline int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  statm >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

/// Whether resident_bytes() says something about segre: sanitizers keep memory that was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsMemory = false;
#else
inline constexpr bool kCountsMemory = true;
#endif

}  // namespace segre::test
