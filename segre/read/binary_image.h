#pragma once  // internal

#include "segre/data/label_store.h"
#include "segre/read/resize.h"

namespace segre {

/// How a grey picture becomes labels 0 and 1: resized by area, 1 if the mean exceeds the threshold, zeros added on each
/// side.
struct BinaryForm {
  ImageSize size;  ///< before padding
  float threshold = 0.0F;
  int64_t pad = 0;

  ImageSize padded() const { return {size.height + 2 * pad, size.width + 2 * pad}; }
  Space space() const;
  /// Throws InputError if not even one image fits in memory.
  void require_memory_for_one() const;
};

/// Adds one image of size `from` to the store, in this form. `values` has from.pixels() entries, row by row.
void add_binary_image(LabelStore& store, const BinaryForm& form, const std::vector<float>& values, ImageSize from);

}  // namespace segre
