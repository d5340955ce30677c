#pragma once  // internal

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "segre/core/error.h"

namespace segre {

/// How far a compressed file may expand. The ratio applies beyond the first `free_bytes`, so that a decompression bomb
/// stops early while a small file of zeros still opens.
struct ExpansionLimits {
  int64_t max_bytes = int64_t{16} << 30;    ///< maximum expanded size
  int64_t free_bytes = int64_t{256} << 20;  ///< up to this size any ratio is allowed
  int64_t max_ratio = 300;                  ///< expanded / compressed; deflate itself reaches 1032

  /// Throws InputError naming `what` if `compressed` bytes expand to too many, `expanded`.
  void check(const std::string& what, int64_t compressed, int64_t expanded) const {
    if (expanded > max_bytes) fail_input(what, ": expands to more than ", max_bytes, " bytes, the maximum");
    if (expanded > free_bytes && expanded / max_ratio > compressed)
      fail_input(what, ": ", compressed, " compressed bytes expand to ", expanded, " or more, over ", max_ratio,
                 " times as many: refused as a likely decompression bomb");
  }
};

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

/// Size of `bytes` compressed by zlib at its highest level, minus that of an empty stream.
int64_t deflated_size(const std::string& bytes);

}  // namespace segre
