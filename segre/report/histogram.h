#pragma once  // internal

#include <string>

#include "segre/space/space.h"

namespace segre {

/// Counts of the pairs of labels of two variables, drawn as samples stream in: the first variable across, the second
/// upwards, from white (none) to dark blue (most).
class PairHistogram {
 public:
  /// Of a variable.
  static constexpr int64_t kMostLabels = 2048;

  /// InputError unless serves(space).
  explicit PairHistogram(const Space& space);
  /// Whether a space has two variables, of few enough labels for a picture.
  static bool serves(const Space& space);
  /// Counts labels [B, 2].
  void add(const torch::Tensor& labels);
  /// The pixels, row by row from above: 0 for none to 255 for most.
  torch::Tensor depths() const;
  /// The bytes of a PNG file.
  std::string png() const;

 private:
  Space space_;
  torch::Tensor counts_;  // [labels of the second, labels of the first] int64
};

}  // namespace segre
