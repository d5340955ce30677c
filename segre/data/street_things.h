#pragma once

#include "segre/data/street_camera.h"

namespace segre {

/// What stands on a street, each painted by one function of its place on the ground (metres) and random numbers.

/// A tree: a trunk and a crown of leaves.
void draw_tree(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);
/// A pole with a lamp, a sign, a traffic light or nothing; `side` is -1 or 1, the side of the street it stands on.
void draw_pole(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z, float side);
/// Someone who stands or walks.
void draw_person(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);
/// Someone on a bicycle.
void draw_rider(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);
/// A car, now and then a van, a lorry or a bus, headed along the street.
void draw_car(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);
/// Something of no category: a bin, a box, a pram.
void draw_clutter(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z);

}  // namespace segre
