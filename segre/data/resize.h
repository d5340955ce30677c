#pragma once

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

/// Largest height or width of an image that is read or asked for.
inline constexpr int64_t kMaxExtent = 8192;

/// The options `height=` and `width=` of a source, which come together; nothing where both are absent.
std::optional<ImageSize> requested_size(const SourceName& name);

/// Which of `from` pixels each of `to` pixels takes, NEAREST with pixel centres at halves: pixel k of the result covers
/// ((k + 1/2) / to) of the extent and takes the pixel that this point lies in, floor((k + 1/2) * from / to).
std::vector<int64_t> nearest_pixels(int64_t from, int64_t to);

/// An image of numbers, resized by area: each pixel of the result is the mean of what it covers, pixels cut by its
/// border counting by the part inside. `values` has from.pixels() entries, row by row.
std::vector<float> average_area(const std::vector<float>& values, ImageSize from, ImageSize to);

}  // namespace segre
