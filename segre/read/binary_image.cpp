#include "segre/read/binary_image.h"

#include "segre/core/error.h"
#include "segre/core/memory.h"

namespace segre {

Space BinaryForm::space() const {
  LabelSet labels{{}, {{0, 0, 0}, {255, 255, 255}}};
  return Space::image(padded().height, padded().width, 2, std::move(labels));
}

void BinaryForm::require_memory_for_one() const {
  // Grey levels in float32, intermediate results in float64, and the label.
  require_memory(13.0 * static_cast<double>(padded().pixels()),
                 concat("an image of ", padded().height, "x", padded().width, " pixels"), torch::kCPU);
}

void add_binary_image(LabelStore& store, const BinaryForm& form, const std::vector<float>& values, ImageSize from) {
  if (from != form.size) return add_binary_image(store, form, average_area(values, from, form.size), form.size);
  const auto [height, width] = form.padded();
  for (int64_t y = -form.pad; y < height - form.pad; ++y)
    for (int64_t x = -form.pad; x < width - form.pad; ++x) {
      const bool inside = y >= 0 && y < from.height && x >= 0 && x < from.width;
      store.add(inside && values[y * from.width + x] > form.threshold ? 1 : 0);
    }
}

}  // namespace segre
