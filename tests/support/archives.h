#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// Small files in the formats that the readers support, made in memory.

namespace segre::test {

/// One gzip member with this text.
std::string gzip_bytes(const std::string& text);

/// Writes a zip archive of named files, deflated; encrypted if a password is given.
void write_zip(const std::filesystem::path& path, const std::vector<std::pair<std::string, std::string>>& files,
               const std::string& password = "");

/// A grey PNG of 1, 8 or 16 bits; `values` row by row.
std::string grey_png(const std::vector<int>& values, int height, int width, int bits = 8);

/// IDX images of bytes: header and body, whether or not they match.
std::string idx_images(uint32_t count, uint32_t height, uint32_t width, const std::string& body);
/// IDX labels.
std::string idx_labels(const std::string& labels);

/// An NPY file of version 1 with this dictionary and body.
std::string npy_bytes(const std::string& descr, const std::string& shape, const std::string& body,
                      bool fortran = false);

}  // namespace segre::test
