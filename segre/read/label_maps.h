#pragma once  // internal

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "segre/data/label_store.h"
#include "segre/io/png.h"
#include "segre/read/resize.h"

// Shared by both kinds of label map folders.

namespace segre {

/// How many different numbers a PNG file can store.
inline constexpr int64_t kPngValues = 65'536;

/// How often a number occurs, and where first.
struct StoredValue {
  int64_t count = 0;
  std::string file;
  int64_t row = 0;
  int64_t column = 0;
};

/// The numbers stored in PNG files, image by image.
struct LabelMaps {
  ImageSize size;
  LabelStore values;
  std::map<int64_t, StoredValue> stored;  ///< the numbers found, before resizing
  std::vector<Rgb> palette;               ///< of the first file; empty if it has none
};

/// The numbers that may occur, and how messages describe them.
struct AllowedValues {
  std::vector<bool> allowed;  ///< [kPngValues]
  std::string expected;
};

/// The files in a folder and its subfolders with names ending in `suffix`, sorted by path; at most `limit`. InputError
/// if the folder cannot be read or has no such file.
std::vector<std::filesystem::path> find_files(const std::filesystem::path& folder, const std::string& suffix,
                                              int64_t limit);

/// The origin of items with one file each.
Origin origin_of(const std::vector<std::filesystem::path>& files);

/// Reads label maps, resized to `size` by nearest_pixels if given. InputError names a file that stores colours, differs
/// in size from the first (without `size`), or stores a number that is not allowed.
LabelMaps read_label_maps(const std::vector<std::filesystem::path>& files, std::optional<ImageSize> size,
                          const AllowedValues& values);

}  // namespace segre
