#pragma once  // internal

#include "segre/sources/item_random.h"
#include "segre/sources/label_canvas.h"

namespace segre {

/// A pinhole camera above a flat street that may bend. Metres: X to the right, Y up from the ground, Z ahead.
struct StreetCamera {
  float pixels;   ///< height of the picture
  float focal;    ///< in picture heights, as are horizon and centre
  float horizon;  ///< down from the top
  float centre;   ///< where straight ahead is
  float eye;      ///< metres above the ground
  float bend;     ///< curvature of the street, 1 / metre

  static StreetCamera draw(const LabelCanvas& canvas, ItemRandom& random) {
    const auto height = static_cast<float>(canvas.height());
    StreetCamera camera{};
    camera.pixels = height;
    camera.focal = random.uniform(1.2f, 1.8f);
    camera.horizon = random.uniform(0.38f, 0.48f);
    camera.centre = static_cast<float>(canvas.width()) / height * random.uniform(0.42f, 0.58f);
    camera.eye = random.uniform(1.2f, 1.6f);
    camera.bend = random.chance(0.35f) ? random.normal(0.0f, 0.0022f) : 0.0f;
    return camera;
  }

  /// Pixels per metre at a depth.
  float scale(float z) const { return pixels * focal / z; }
  /// A point's position in the picture; Z > 0.
  Point project(float x, float y, float z) const {
    const float ahead = x + 0.5f * bend * z * z;
    return {pixels * (centre + focal * ahead / z), pixels * (horizon + focal * (eye - y) / z)};
  }
};

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
