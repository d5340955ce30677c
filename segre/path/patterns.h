#pragma once  // internal

#include "segre/core/rng.h"
#include "segre/kernels/draw_kernels.h"
#include "segre/space/space.h"

namespace segre {

/// The grid of the first image of a space, else of its first sequence, else of all columns.
PatternGrid pattern_grid(const Space& space);

/// Which variables of an item training shows as known: random sets that look like those of users' questions. In tables
/// any cells, with every number of them equally likely, columns of two variables mostly as a whole; in images cells,
/// rectangles, halves and borders; in sequences cells and spans. A rectangle, half or span is what is known, or all but it, with equal probability. In a space of
/// several parts one of them has the rectangles, see pattern_grid; what is known of the others is any cells.
///
/// Everything is tensor operations on the device of the numbers, so that a captured CUDA step can do it.
class KnownPatterns {
 public:
  /// Uniform numbers that decide the shape of an item's set.
  static constexpr int64_t kNumbers = 8;

  KnownPatterns(const Space& space, torch::Device device);

  /// shape [B, kNumbers] and cells [B, n], uniform on [0, 1) -> [B, n] bool.
  torch::Tensor operator()(const torch::Tensor& shape, const torch::Tensor& cells) const;

  const PatternGrid& grid() const { return grid_; }

 private:
  torch::Tensor boxes(const torch::Tensor& shape) const;

  PatternGrid grid_;
  torch::Tensor head_;  // [n] int64: the first variable of each one's column; undefined if all columns have one
  torch::Tensor row_, column_;  // [cells of the grid] float32: where each is
};

}  // namespace segre
