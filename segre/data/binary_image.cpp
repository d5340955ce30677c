#include "segre/data/binary_image.h"

namespace segre {

Space BinaryForm::space() const {
  LabelSet labels{{}, {{0, 0, 0}, {255, 255, 255}}};
  return Space::uniform(Layout::image, {padded().height, padded().width}, 2, std::move(labels));
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
