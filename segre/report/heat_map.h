#pragma once

#include "segre/report/picture.h"

namespace segre {

/// Images of numbers: values [B, n] as labels of a space with the same shape whose colours run from black over red and
/// yellow to white, from 0 to the largest value but the highest thousandth. For draw_label_grid.
struct HeatMap {
  Space space;
  torch::Tensor labels;  ///< [B, n] int64
};
HeatMap heat_map(const Space& space, const torch::Tensor& values);

/// The first images of numbers side by side, as the bytes of a PNG file.
std::string heat_grid_png(const Space& space, const torch::Tensor& values);

}  // namespace segre
