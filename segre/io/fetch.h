#pragma once  // internal

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "segre/core/work.h"

namespace segre {

/// A public file: where to download it and how to verify it.
struct FetchFile {
  std::string name;                  ///< its local name
  int64_t bytes = 0;                 ///< its size
  std::string sha256;                ///< 64 hexadecimal digits
  std::vector<std::string> mirrors;  ///< URLs of the whole file, tried in order
};

/// Downloads a file into a folder, which is created if missing. Bytes go to NAME.part, which a later call resumes; once
/// size and SHA-256 match it is synced to disk and renamed, so NAME is complete or absent. An existing file is left
/// alone if it is correct; InputError if it is wrong, or if another process is downloading it. Error reports what each
/// mirror answered; a part with wrong bytes is removed. Returns whether anything was downloaded.
bool fetch_file(const FetchFile& file, const std::filesystem::path& folder, const WorkCallbacks& callbacks = {});

/// SHA-256 of a file's contents as hexadecimal digits; InputError if it cannot be read.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace segre
