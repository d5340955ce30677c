#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "segre/data/label_store.h"
#include "segre/data/resize.h"
#include "segre/io/png.h"

// What the two kinds of folders of label maps share.

namespace segre {

/// Numbers a PNG file can store.
inline constexpr int64_t kPngValues = 65'536;

/// How often a number is stored, and where first.
struct StoredValue {
  int64_t count = 0;
  std::string file;
  int64_t row = 0;
  int64_t column = 0;
};

/// The numbers stored in PNG files, one image after the other.
struct LabelMaps {
  ImageSize size;
  LabelStore values;
  std::map<int64_t, StoredValue> stored;  ///< which numbers there were, before resizing
  std::vector<Rgb> palette;               ///< of the first file; empty where it has none
};

/// Which numbers may be stored, and how messages call them.
struct AllowedValues {
  std::vector<bool> allowed;  ///< [kPngValues]
  std::string expected;
};

/// The files under a folder, and the folders in it, whose names end in `suffix`, sorted by path; at most `limit`.
/// InputError where the folder cannot be read or has none.
std::vector<std::filesystem::path> find_files(const std::filesystem::path& folder, const std::string& suffix,
                                              int64_t limit);

/// The files as where their items come from.
Origin origin_of(const std::vector<std::filesystem::path>& files);

/// Reads label maps, resized to `size` by nearest_pixels where it is given. InputError names the file that stores
/// colours, has another size than the first (without `size`), or stores a number that is not allowed.
LabelMaps read_label_maps(const std::vector<std::filesystem::path>& files, std::optional<ImageSize> size,
                          const AllowedValues& values);

}  // namespace segre
