#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "segre/io/expansion.h"

namespace segre {

/// Reads the bytes of a file, plain or gzip as detected by its first two bytes, not its name; a gzip file may have
/// several members. Uses a fixed buffer, whatever the file's size.
class ByteReader {
 public:
  explicit ByteReader(const std::filesystem::path& path, const ExpansionLimits& limits = {});
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// Reads up to `count` bytes, fewer only at the end of the file; 0 there. InputError names the file if it cannot be
  /// read, is cut short, damaged, or expands beyond the limits.
  size_t read(char* into, size_t count);
  /// Reads the rest of the file.
  std::string read_rest();
  /// Whether the file is plain: its bytes are those that read() returns.
  bool is_plain() const { return inflater_ == nullptr; }
  /// The file, for messages.
  const std::string& name() const { return name_; }

 private:
  struct Inflater;
  size_t read_raw(char* into, size_t count);
  size_t read_inflated(char* into, size_t count);

  std::string name_;
  ExpansionLimits limits_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::string peeked_;                  // the first bytes, read to detect gzip
  std::unique_ptr<Inflater> inflater_;  // null for a plain file
};

/// Reads a whole file, plain or gzip; throws as ByteReader does.
std::string read_maybe_gzip(const std::filesystem::path& path, const ExpansionLimits& limits = {});

}  // namespace segre
