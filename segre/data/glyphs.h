#pragma once

#include "segre/data/generated.h"
#include "segre/data/source_name.h"

namespace segre {

/// Side of an unpadded glyph, as in MNIST.
inline constexpr int64_t kGlyphSide = 28;

/// Draws a digit as a pen would: strokes jittered, slanted and bent, in a pen of random width, fitted into the middle
/// 20 x 20 pixels like those of MNIST. `out` has kGlyphSide^2 labels: 1 where there is ink.
void draw_glyph(int digit, ItemRandom& random, uint8_t* out);

/// The options of `glyphs`.
const std::vector<SourceOption>& glyphs_options();

/// An endless source of binary digits, written by no hand: `glyphs?pad=2&classes=3,8`. Item k is a pure function of the
/// seed and k. InputError for options it does not have.
std::unique_ptr<DataSource> make_glyphs_source(const SourceName& name);

}  // namespace segre
