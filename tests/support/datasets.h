#pragma once

#include "segre/data/source.h"
#include "tests/support/support.h"

// Datasets small enough to know by heart.

namespace segre::test {

/// N rows that are all different: row r is the number r written with the labels of an image as digits, the last pixel
/// first, so that small numbers differ from their mirror images.
inline Dataset numbered_rows(const Space& space, int64_t N) {
  auto labels = torch::zeros({N, space.n_variables()}, torch::kInt64);
  for (int64_t r = 0; r < N; ++r)
    for (int64_t rest = r, k = space.n_variables() - 1; rest > 0 && k >= 0; rest /= space.n_labels(k), --k)
      labels[r][k] = rest % space.n_labels(k);
  return {space, labels.to(label_type(space))};
}

/// Four images of 8x8 binary pixels, sixteen times each: upright stripes two pixels wide at four places.
inline Dataset stripes(bool mirror = false) {
  const Space space = Space::uniform(Layout::image, {8, 8}, 2);
  const auto column = torch::arange(8);
  auto labels = torch::empty({64, 8, 8}, torch::kInt64);
  for (int64_t r = 0; r < 64; ++r) labels[r] = ((column + r % 4).div(2, "floor") % 2).unsqueeze(0).expand({8, 8});
  return {space, labels.view({64, 64}).to(label_type(space)), mirror};
}

}  // namespace segre::test
