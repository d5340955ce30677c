#include "segre/read/resize.h"

#include <algorithm>

#include "segre/core/error.h"

namespace segre {
namespace {

// The part of pixel j inside pixel k of the result, in units of 1 / to of a pixel: exact in integers.
int64_t overlap(int64_t j, int64_t k, int64_t from, int64_t to) {
  return std::min((j + 1) * to, (k + 1) * from) - std::max(j * to, k * from);
}

}  // namespace

std::optional<ImageSize> requested_size(const SourceName& name) {
  if (!name.has("height") && !name.has("width")) return std::nullopt;
  if (!name.has("height") || !name.has("width"))
    fail_input("data source ", name.text(), ": height and width must be given together");
  return ImageSize{name.integer("height", 0, {1, kMaxExtent}), name.integer("width", 0, {1, kMaxExtent})};
}

std::vector<int64_t> nearest_pixels(int64_t from, int64_t to) {
  std::vector<int64_t> pixels(to);
  for (int64_t k = 0; k < to; ++k) pixels[k] = (2 * k + 1) * from / (2 * to);
  return pixels;
}

std::vector<float> average_area(const std::vector<float>& values, ImageSize from, ImageSize to) {
  // Columns first, then rows: the mean over a rectangle is the mean of the means.
  std::vector<double> narrow(from.height * to.width, 0.0);
  for (int64_t y = 0; y < from.height; ++y)
    for (int64_t x = 0; x < to.width; ++x) {
      double& sum = narrow[y * to.width + x];
      for (int64_t j = x * from.width / to.width; j < from.width && j * to.width < (x + 1) * from.width; ++j)
        sum += static_cast<double>(overlap(j, x, from.width, to.width)) * values[y * from.width + j];
    }
  std::vector<float> result(to.pixels());
  const double area = static_cast<double>(from.width) * static_cast<double>(from.height);
  for (int64_t y = 0; y < to.height; ++y)
    for (int64_t x = 0; x < to.width; ++x) {
      double sum = 0.0;
      for (int64_t j = y * from.height / to.height; j < from.height && j * to.height < (y + 1) * from.height; ++j)
        sum += static_cast<double>(overlap(j, y, from.height, to.height)) * narrow[j * to.width + x];
      result[y * to.width + x] = static_cast<float>(sum / area);
    }
  return result;
}

}  // namespace segre
