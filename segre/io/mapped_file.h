#pragma once  // internal

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "segre/core/torch.h"
#include "segre/io/descriptor.h"

namespace segre {

/// A file mapped into memory, which may be larger than memory: the kernel reads a page when it is touched and drops it
/// when memory is short. The tensors of view() keep it alive.
///
/// Pages that were touched count as memory of this process for as long as the kernel keeps them mapped, many around
/// each one touched; and touching a page that the file no longer has, because it was truncated, ends the process
/// (SIGBUS). Hence all that reads much goes through read(), which copies from the kernel's cache: the process does not
/// grow, and a truncated file is an Error. See mapped_rows.h for tensors.
class MappedFile {
 public:
  /// Maps a regular file for reading, at the size it has now. FileError names the file and the reason if that fails.
  explicit MappedFile(const std::filesystem::path& path);
  /// Maps the first `bytes` of an open file for reading and writing. `name` is for messages.
  MappedFile(Descriptor file, std::string name, int64_t bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  /// The first byte; may only be written if the file was mapped for writing.
  std::byte* data() const { return data_; }

  /// Copies bytes of the file; Error names the file if it has become shorter or cannot be read.
  void read(int64_t offset, int64_t bytes, void* into) const;
  /// The same if all of them are in the kernel's cache; otherwise false, and `into` may be partly written.
  bool read_if_cached(int64_t offset, int64_t bytes, void* into) const;
  /// Lets the kernel start reading bytes into its cache.
  void fetch(int64_t offset, int64_t bytes) const;
  /// Takes the pages of these bytes out of the process's memory. They are not lost: the file has them.
  void release(int64_t offset, int64_t bytes) const;
  /// Grows a file mapped for writing; data() changes. FileError if the disk is full.
  void grow(int64_t bytes);

  /// A tensor of the bytes from `offset` on, which must be a multiple of the size of a value and hold all of `shape`.
  static torch::Tensor view(std::shared_ptr<const MappedFile> file, int64_t offset, at::IntArrayRef shape,
                            torch::ScalarType type);
  /// The file that a tensor is a view of; nullptr if it is a tensor like any other.
  static const MappedFile* of(const torch::Tensor& tensor);

 private:
  void map(int protection);

  Descriptor file_;
  std::string name_;
  int64_t size_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace segre
