#include "segre/sources/street_things.h"

#include <algorithm>

#include "segre/sources/streets.h"

namespace segre {
namespace {

// A box on or above the street: from x - width/2 to x + width/2, bottom to top, z to z + length.
struct Box {
  float x, width, bottom, top, z, length;
};

void draw_box(LabelCanvas& canvas, const StreetCamera& camera, const Box& box, uint8_t label) {
  Point corners[8];
  int count = 0;
  for (const float x : {box.x - box.width / 2, box.x + box.width / 2})
    for (const float y : {box.bottom, box.top})
      for (const float z : {box.z, box.z + box.length}) corners[count++] = camera.project(x, y, z);
  canvas.hull(corners, count, label);
}

// A rectangle in the plane of depth z.
void draw_board(LabelCanvas& canvas, const StreetCamera& camera, float x, float y, float width, float height, float z,
                uint8_t label) {
  draw_box(canvas, camera, {x, width, y - height / 2, y + height / 2, z, 0.0f}, label);
}

void draw_lorry(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z) {
  const float top = random.uniform(2.3f, 3.4f);
  const float length = random.uniform(5.0f, 11.0f);
  draw_box(canvas, camera, {x, random.uniform(2.0f, 2.5f), 0.5f, top, z, length}, kVehicle);
  draw_box(canvas, camera, {x, 1.9f, 0.0f, 0.8f, z + 0.4f, length - 1.0f}, kVehicle);
}

// Body, legs and head, seen from the front or the side, `tall` metres from feet to crown.
void draw_figure(LabelCanvas& canvas, Point feet, float pixels_per_metre, float tall, float stride, float lean) {
  const float s = pixels_per_metre * tall;
  const auto at = [&](float right, float up) { return Point{feet.x + s * (right + lean * up), feet.y - s * up}; };
  const float leg = 0.055f;
  for (const float foot : {-stride, stride})
    canvas.polygon(
        {at(foot - leg, 0.0f), at(foot + leg, 0.0f), at(0.5f * foot + 0.08f, 0.52f), at(0.5f * foot - 0.08f, 0.52f)},
        kHuman);
  const Point torso[] = {at(-0.09f, 0.46f), at(0.09f, 0.46f),  at(0.15f, 0.62f),  at(0.14f, 0.78f),
                         at(0.07f, 0.85f),  at(-0.07f, 0.85f), at(-0.14f, 0.78f), at(-0.15f, 0.62f)};
  canvas.hull(torso, 8, kHuman);
  canvas.ellipse(at(0.0f, 0.92f), 0.062f * s, 0.082f * s, kHuman);
}

}  // namespace

void draw_tree(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z) {
  const float scale = camera.scale(z);
  const float radius = random.uniform(1.2f, 3.2f);
  const float centre = radius + random.uniform(1.6f, 4.0f);
  const Point foot = camera.project(x, 0.0f, z);
  const Point crown = camera.project(x, centre, z);
  canvas.bar(foot.x, random.uniform(0.2f, 0.5f) * scale, crown.y, foot.y, kNature);
  const float leaves = radius * scale;
  const float across = random.uniform(0.55f, 0.7f) * leaves;
  const float down = random.uniform(0.5f, 0.75f) * leaves;
  canvas.ellipse(crown, across, down, kNature);
  const int64_t tufts = 8 + random.below(8);
  for (int64_t k = 0; k < tufts; ++k) {
    const Point tuft{crown.x + random.uniform(-0.75f, 0.75f) * leaves, crown.y + random.uniform(-0.7f, 0.6f) * leaves};
    const float size = random.uniform(0.22f, 0.48f) * leaves;
    canvas.ellipse(tuft, size, size * random.uniform(0.75f, 1.1f), kNature);
  }
}

void draw_pole(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z, float side) {
  const float scale = camera.scale(z);
  const Point foot = camera.project(x, 0.0f, z);
  const int64_t kind = random.below(4);
  const float tall = kind == 0 ? random.uniform(5.0f, 9.0f) : random.uniform(2.4f, 4.2f);
  const float top = camera.project(x, tall, z).y;
  canvas.bar(foot.x, random.uniform(0.1f, 0.2f) * scale, top, foot.y, kObject);
  if (kind == 0) {  // a lamp on an arm over the street
    const float arm = random.uniform(0.8f, 2.2f);
    draw_board(canvas, camera, x - side * arm / 2, tall - 0.06f, arm, 0.14f, z, kObject);
    draw_board(canvas, camera, x - side * arm, tall - 0.1f, 0.7f, 0.25f, z, kObject);
  } else if (kind == 1) {  // a traffic light
    draw_board(canvas, camera, x, tall - 0.45f, 0.42f, 1.05f, z, kObject);
  } else if (kind == 2) {  // a round or a square sign
    const float size = random.uniform(0.6f, 0.95f);
    const Point middle = camera.project(x, tall - size / 2, z);
    if (random.chance(0.5f)) {
      canvas.ellipse(middle, size * scale / 2, size * scale / 2, kObject);
    } else {
      draw_board(canvas, camera, x, tall - size / 2, size, size * random.uniform(0.7f, 1.4f), z, kObject);
    }
  }
}

void draw_person(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z) {
  const float tall = random.chance(0.1f) ? random.uniform(1.0f, 1.4f) : random.uniform(1.55f, 1.92f);
  const float stride = random.uniform(0.03f, 0.14f);
  draw_figure(canvas, camera.project(x, 0.0f, z), camera.scale(z), tall, stride, random.normal(0.0f, 0.02f));
}

void draw_rider(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z) {
  const float scale = camera.scale(z);
  const bool across = random.chance(0.35f);  // seen from the side, else from behind
  draw_figure(canvas, camera.project(x, 0.45f, z), scale, 1.5f, across ? 0.06f : 0.03f, across ? 0.12f : 0.0f);
  const float wheel = 0.34f;
  if (across) {
    for (const float shift : {-0.52f, 0.52f})
      canvas.ellipse(camera.project(x + shift, wheel, z), wheel * scale, wheel * scale, kVehicle);
    draw_board(canvas, camera, x, 0.62f, 0.95f, 0.2f, z, kVehicle);
  } else {
    const Point foot = camera.project(x, 0.0f, z);
    canvas.bar(foot.x, 0.12f * scale, foot.y - 0.95f * scale, foot.y, kVehicle);
    draw_board(canvas, camera, x, 1.0f, 0.55f, 0.1f, z, kVehicle);
  }
}

void draw_car(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z) {
  if (random.chance(0.1f)) return draw_lorry(canvas, camera, random, x, z);
  const float width = random.uniform(1.65f, 1.9f);
  const float length = random.uniform(3.6f, 4.7f);
  const float waist = random.uniform(0.82f, 1.0f);
  const float roof = waist + random.uniform(0.45f, 0.75f);
  const float boot = random.uniform(0.1f, 0.9f);
  draw_box(canvas, camera, {x, width, 0.22f, waist, z, length}, kVehicle);
  // The cabin: wide at the waist, narrower at the roof.
  Point cabin[8];
  int count = 0;
  for (const float side : {-0.5f, 0.5f}) {
    cabin[count++] = camera.project(x + side * width * 0.96f, waist, z + boot * 0.5f);
    cabin[count++] = camera.project(x + side * width * 0.74f, roof, z + boot + 0.35f);
    cabin[count++] = camera.project(x + side * width * 0.74f, roof, z + length * 0.62f);
    cabin[count++] = camera.project(x + side * width * 0.96f, waist, z + length * 0.78f);
  }
  canvas.hull(cabin, count, kVehicle);
  for (const float side : {-0.5f, 0.5f})  // wheels, a little inside
    for (const float place : {0.12f, 0.74f})
      draw_box(canvas, camera, {x + side * (width - 0.25f), 0.22f, 0.0f, 0.4f, z + place * length, 0.6f}, kVehicle);
}

void draw_clutter(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, float x, float z) {
  const float width = random.uniform(0.4f, 1.5f);
  const float tall = random.uniform(0.5f, 1.3f);
  draw_box(canvas, camera, {x, width, 0.0f, tall, z, random.uniform(0.3f, 1.0f)}, kVoid);
}

}  // namespace segre
