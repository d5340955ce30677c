#pragma once  // internal

#include "segre/data/source_name.h"
#include "segre/sources/generated.h"

namespace segre {

/// Side of an unpadded glyph, as in MNIST.
inline constexpr int64_t kGlyphSide = 28;

/// Draws a digit as a pen would: strokes jittered, slanted and bent, with a pen of random width, fitted into the middle
/// 20 x 20 pixels as in MNIST. `out` has kGlyphSide^2 labels: 1 is ink.
void draw_glyph(int digit, ItemRandom& random, uint8_t* out);

/// The options of `glyphs`.
const std::vector<SourceOption>& glyphs_options();

/// An endless source of synthetic binary digits: `glyphs?pad=2&classes=3,8`. Item k is a pure function of the seed and
/// k. InputError for unknown options.
std::unique_ptr<DataSource> make_glyphs_source(const SourceName& name);

}  // namespace segre
