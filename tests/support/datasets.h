#pragma once

#include <algorithm>
#include <vector>

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
  const Space space = Space::image(8, 8, 2);
  const auto column = torch::arange(8);
  auto labels = torch::empty({64, 8, 8}, torch::kInt64);
  for (int64_t r = 0; r < 64; ++r) labels[r] = ((column + r % 4).div(2, "floor") % 2).unsqueeze(0).expand({8, 8});
  return {space, labels.view({64, 64}).to(label_type(space)), mirror};
}

/// N rows of n columns with three labels each. They form a chain: a column has the label of the one before it four
/// times out of five, and else any.
inline Dataset chain_rows(int64_t n, int64_t N, uint64_t seed = 1) {
  const Space space = Space::table(std::vector<Variable>(static_cast<size_t>(n), Variable{"", 3, {}}));
  auto labels = torch::empty({N, n}, torch::kInt64);
  auto at = labels.accessor<int64_t, 2>();
  const RandomStream random{seed, Purpose::probe};
  constexpr double kSame = 0.8;
  for (int64_t r = 0; r < N; ++r)
    for (int64_t k = 0; k < n; ++k) {
      const double u = uniform_double(random, static_cast<uint64_t>(r * n + k));
      if (k > 0 && u < kSame) {
        at[r][k] = at[r][k - 1];
      } else {
        at[r][k] = std::min<int64_t>(2, static_cast<int64_t>(3.0 * (k > 0 ? (u - kSame) / (1.0 - kSame) : u)));
      }
    }
  return {space, labels.to(label_type(space))};
}

}  // namespace segre::test
