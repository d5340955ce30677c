#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace segre {

/// Reads a whole file; InputError names the file and the reason where it cannot.
std::string read_file(const std::filesystem::path& path);

/// Writes a file whole or not at all: `write` fills a temporary beside it, which is synced to disk and renamed
/// over the target. On any failure the target keeps its old contents and the temporary is removed.
void write_file_whole(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

/// Makes a directory of files appear whole or not at all: `fill` writes into a temporary directory beside it, which
/// is synced and renamed. The target must not exist.
void write_directory_whole(const std::filesystem::path& path,
                           const std::function<void(const std::filesystem::path&)>& fill);

/// Whether a path is one of the temporaries of the functions above, which a crash may leave behind.
bool is_temporary(const std::filesystem::path& path);

}  // namespace segre
