#pragma once

#include "segre/data/label_store.h"
#include "segre/data/resize.h"

namespace segre {

/// How a picture of grey levels becomes labels 0 and 1: resized by area, 1 where the mean exceeds the threshold, zeros
/// added on each side.
struct BinaryForm {
  ImageSize size;  ///< before padding
  float threshold = 0.0F;
  int64_t pad = 0;

  ImageSize padded() const { return {size.height + 2 * pad, size.width + 2 * pad}; }
  Space space() const;
  /// Throws InputError where the memory does not hold a single image.
  void require_memory_for_one() const;
};

/// Adds one image of `from` to the store, in that form. `values` has from.pixels() entries, row by row.
void add_binary_image(LabelStore& store, const BinaryForm& form, const std::vector<float>& values, ImageSize from);

}  // namespace segre
