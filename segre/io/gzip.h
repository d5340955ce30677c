#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "segre/io/expansion.h"

namespace segre {

/// The bytes of a file, plain or gzip, told apart by its first two bytes and not by its name; a gzip file may have
/// several members. Holds a fixed buffer, whatever the file's size.
class ByteReader {
 public:
  explicit ByteReader(const std::filesystem::path& path, const ExpansionLimits& limits = {});
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// Up to `count` bytes, fewer only at the end of the file; 0 there. InputError names the file where it cannot be
  /// read, is cut short, damaged, or expands beyond the limits.
  size_t read(char* into, size_t count);
  /// All that is left.
  std::string read_rest();
  /// The file, for messages.
  const std::string& name() const { return name_; }

 private:
  struct Inflater;
  size_t read_raw(char* into, size_t count);
  size_t read_inflated(char* into, size_t count);

  std::string name_;
  ExpansionLimits limits_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::string peeked_;                  // the first bytes, looked at to tell gzip
  std::unique_ptr<Inflater> inflater_;  // null for a plain file
};

/// A whole file, plain or gzip; fails as ByteReader does.
std::string read_maybe_gzip(const std::filesystem::path& path, const ExpansionLimits& limits = {});

}  // namespace segre
