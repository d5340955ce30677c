#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace segre {

/// A public file: where it can be had, and how to know that it is the right one.
struct FetchFile {
  std::string name;                  ///< as it is to be called here
  int64_t bytes = 0;                 ///< its size
  std::string sha256;                ///< 64 hexadecimal digits
  std::vector<std::string> mirrors;  ///< addresses of the whole file, tried in order
};

/// Downloads a file into a folder, which is made if it is missing. Bytes go to NAME.part, which a later call continues;
/// once size and SHA-256 are right it is synced to disk and renamed, so NAME is whole or absent. A file that already
/// exists and is right is left alone; InputError if it exists and is wrong, or if another process downloads it. Error
/// tells what each mirror said; a part with wrong bytes is removed. Returns whether anything was downloaded.
bool fetch_file(const FetchFile& file, const std::filesystem::path& folder);

/// SHA-256 of a file's contents as hexadecimal digits; InputError where it cannot be read.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace segre
