#pragma once  // internal

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace segre {

using Rgb = std::array<uint8_t, 3>;

/// Maximum number of pixels in a PNG file: a square of side 8,192.
inline constexpr int64_t kMaxPngPixels = int64_t{1} << 26;

/// What a PNG file holds of labels: the numbers it stores, never the colours that show them.
struct PngImage {
  enum class Kind { palette, grey, colour };

  int64_t height = 0;
  int64_t width = 0;
  int bits = 0;  ///< per stored number: 1, 2, 4, 8 or 16
  Kind kind = Kind::grey;
  std::vector<uint16_t> values;  ///< [height * width] palette indices or grey values as stored; empty for colour
  std::vector<Rgb> palette;      ///< the colours of the indices; empty unless kind is palette
};

/// Reads a PNG file, interlaced or not; an alpha channel beside grey is dropped. InputError names the file if it is not
/// a PNG, damaged, cut short, or larger than kMaxPngPixels.
PngImage read_png(const std::filesystem::path& path);

/// Like read_png, from bytes in memory; messages use `name` as the file name.
PngImage parse_png(const std::string& bytes, const std::string& name);

/// A colour picture as the bytes of a PNG file: `pixels` has height * width entries, row by row.
std::string encode_png_rgb(const std::vector<Rgb>& pixels, int64_t height, int64_t width);

/// A label map as the bytes of a palette PNG: `values` has height * width indices into `palette` (1 to 256 colours),
/// row by row. Error if an index has no colour.
std::string encode_png_palette(const std::vector<uint8_t>& values, int64_t height, int64_t width,
                               const std::vector<Rgb>& palette);

}  // namespace segre
