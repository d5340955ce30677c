#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "segre/io/descriptor.h"

namespace segre {

/// A file that grows by whole records, for logs: a record cut short by a full disk is removed again.
class AppendFile {
 public:
  /// Opens or creates the file; FileError names it and the reason if that fails.
  explicit AppendFile(std::filesystem::path path);

  /// Appends all of the bytes or none; FileError if none. If a partial record cannot be removed, `torn()` is true.
  void append(std::string_view bytes);
  /// Whether the file ends in a partial record.
  bool torn() const { return torn_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  bool torn_ = false;
};

}  // namespace segre
