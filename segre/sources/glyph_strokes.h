#pragma once  // internal

#include <vector>

#include "segre/sources/label_canvas.h"

namespace segre {

/// A smooth curve through its points.
using Stroke = std::vector<Point>;

/// One way of writing a digit, in a box of height 1; strokes that meet in a corner share their end point.
struct GlyphForm {
  float weight;  ///< how common it is among the forms of its digit
  std::vector<Stroke> strokes;
};

/// The ways of writing a digit 0 to 9.
const std::vector<GlyphForm>& glyph_forms(int digit);

}  // namespace segre
