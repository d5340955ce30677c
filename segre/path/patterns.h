#pragma once  // internal

#include "segre/core/rng.h"
#include "segre/space/space.h"

namespace segre {

/// Which variables of an item training shows as known: random sets that look like those of users' questions. In tables
/// any cells, with every number of them equally likely; in images cells, rectangles, halves and borders; in sequences
/// cells and spans. A rectangle, half or span is what is known, or all but it, with equal probability.
///
/// Everything is tensor operations on the device of the numbers, so that a captured CUDA step can do it.
class KnownPatterns {
 public:
  /// Uniform numbers that decide the shape of an item's set.
  static constexpr int64_t kNumbers = 8;

  KnownPatterns(const Space& space, torch::Device device);

  /// shape [B, kNumbers] and cells [B, n], uniform on [0, 1) -> [B, n] bool.
  torch::Tensor operator()(const torch::Tensor& shape, const torch::Tensor& cells) const;

  Layout layout() const { return layout_; }
  /// The grid on which the variables are: variable i in row i / width, column i % width; one row unless it is an image.
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

 private:
  torch::Tensor boxes(const torch::Tensor& shape) const;

  Layout layout_;
  int64_t height_ = 1, width_ = 1;
  torch::Tensor row_, column_;  // [n] float32: where each variable is
};

}  // namespace segre
