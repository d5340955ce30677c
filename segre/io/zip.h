#pragma once  // internal

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "segre/io/gzip.h"

namespace segre {

/// Reads the files in a zip archive, into memory only.
class ZipReader {
 public:
  struct Entry {
    std::string name;
    int64_t compressed = 0;  ///< bytes, according to the archive's directory
    int64_t expanded = 0;
    int64_t number = 0;  ///< in the archive's directory
  };

  /// Opens an archive and lists its files. InputError names a file that is not a zip archive, or an entry whose path is
  /// absolute or contains `..`, that is encrypted, uses a compression method other than deflate, or would with the
  /// others expand beyond the limits.
  explicit ZipReader(const std::filesystem::path& path, const ExpansionLimits& limits = {});
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  /// The files, in the archive's order, without folders.
  const std::vector<Entry>& entries() const { return entries_; }
  /// A file's contents. InputError names archive and entry if the data are damaged or the checksum is wrong.
  std::string read(const Entry& entry) const;
  /// "archive.zip: entry", for messages.
  std::string place(const Entry& entry) const;

 private:
  struct Archive;
  void add_entry(int64_t number);

  std::string name_;
  ExpansionLimits limits_;
  std::unique_ptr<Archive> archive_;
  std::vector<Entry> entries_;
};

}  // namespace segre
