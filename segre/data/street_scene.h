#pragma once

#include "segre/data/item_random.h"
#include "segre/data/label_canvas.h"

namespace segre {

/// The categories of Cityscapes, in the order of their numbers there.
enum StreetLabel : uint8_t { kVoid, kFlat, kConstruction, kObject, kNature, kSky, kHuman, kVehicle };

/// Paints what a camera behind a windscreen may see of a street, as labels: a ground plane in perspective, rows of
/// houses or trees on both sides, an end of the street, then cars, people, poles and trees, the farther under the
/// nearer, and the own bonnet (void) at the bottom.
void draw_street(LabelCanvas& canvas, ItemRandom& random);

}  // namespace segre
