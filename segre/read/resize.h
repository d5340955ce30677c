#pragma once  // internal

#include <cstdint>
#include <optional>
#include <vector>

#include "segre/data/source_name.h"

namespace segre {

/// Height and width of an image.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  int64_t pixels() const { return height * width; }
  bool operator==(const ImageSize&) const = default;
};

/// Maximum height or width of an image, read or requested.
inline constexpr int64_t kMaxExtent = 8192;

/// The options `height=` and `width=` of a source, which go together; nullopt if both are absent.
std::optional<ImageSize> requested_size(const SourceName& name);

/// Which of `from` pixels each of `to` pixels takes, NEAREST with pixel centres at halves: the centre of pixel k of the
/// result is at (k + 1/2) / to of the extent, in pixel floor((k + 1/2) * from / to).
std::vector<int64_t> nearest_pixels(int64_t from, int64_t to);

/// An image of numbers, resized by area: each pixel of the result is the mean of what it covers; pixels cut by its
/// border count by the part inside. `values` has from.pixels() entries, row by row.
std::vector<float> average_area(const std::vector<float>& values, ImageSize from, ImageSize to);

}  // namespace segre
