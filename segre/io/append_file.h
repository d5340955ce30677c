#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "segre/io/descriptor.h"

namespace segre {

/// A file that grows by whole records, for logs: what a full disk cuts short is taken back.
class AppendFile {
 public:
  /// Opens or makes the file; FileError names it and the reason if it cannot.
  explicit AppendFile(std::filesystem::path path);

  /// Adds the bytes, all of them or none; FileError if it is none. If not even taking back works, `torn()` says so.
  void append(std::string_view bytes);
  /// Whether the file ends in a part of a record.
  bool torn() const { return torn_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  bool torn_ = false;
};

}  // namespace segre
