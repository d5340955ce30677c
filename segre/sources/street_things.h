#pragma once  // internal

#include "segre/sources/street_camera.h"

namespace segre {

/// Things on a street, each painted by a function of its position on the ground (metres) and random numbers.

/// A tree: a trunk and a crown of leaves.
void draw_tree(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);
/// A pole with a lamp, a sign, a traffic light or nothing; `side` is -1 or 1, the side of the street it stands on.
void draw_pole(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z, float side);
/// A person standing or walking.
void draw_person(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);
/// A person on a bicycle.
void draw_rider(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);
/// A car, occasionally a van, a lorry or a bus, facing along the street.
void draw_car(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);
/// Something without a category: a bin, a box, a pram.
void draw_clutter(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);

}  // namespace segre
