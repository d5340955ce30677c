#include "segre/sources/streets.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "segre/core/error.h"
#include "segre/read/cityscapes.h"
#include "segre/sources/street_things.h"

namespace segre {
namespace {

constexpr SourceName::Bounds kSizes{8, 4096};  // fewer than 8 rows show no street

constexpr float kNearest = 2.2f;    // metres: nearer ground is below the picture
constexpr float kFarthest = 130.f;  // where the street ends
constexpr int kPieces = 6;          // straight pieces of a bent facade

// One side of the street: how far its parts reach from the camera, in metres, and what lines it.
struct Side {
  enum class Style { town, suburb, park };
  float sign;    // -1 left, 1 right
  float kerb;    // road ends
  float houses;  // pavement ends
  Style style;
  bool lawn;  // between pavement and houses
};

// Something on the street, painted in order of depth.
struct Thing {
  enum class Kind { tree, pole, person, rider, car, clutter };
  Kind kind;
  float x, z, side;
};

Side draw_side(ItemRandom& random, float sign) {
  Side side{};
  side.sign = sign;
  side.kerb = sign > 0 ? random.uniform(2.6f, 6.0f) : random.uniform(4.5f, 9.5f);
  side.houses = side.kerb + random.uniform(2.0f, 5.5f);
  const float style = random.uniform();
  side.style = style < 0.55f ? Side::Style::town : style < 0.82f ? Side::Style::suburb : Side::Style::park;
  side.lawn = side.style != Side::Style::town && random.chance(0.7f);
  if (side.lawn) side.houses += random.uniform(1.0f, 5.0f);
  return side;
}

// A sheet of one label between two edges, each from (x, y) at z1 to (x, y) at z2; bends with the street.
void draw_sheet(LabelCanvas& canvas, const StreetCamera& camera, Point from, Point to, float z1, float z2,
                uint8_t label) {
  const int pieces = camera.bend == 0.0f ? 1 : kPieces;
  for (int k = 0; k < pieces; ++k) {
    const float a = z1 + (z2 - z1) * static_cast<float>(k) / static_cast<float>(pieces);
    const float b = z1 + (z2 - z1) * static_cast<float>(k + 1) / static_cast<float>(pieces);
    canvas.polygon({camera.project(from.x, from.y, a), camera.project(to.x, to.y, a), camera.project(to.x, to.y, b),
                    camera.project(from.x, from.y, b)},
                   label);
  }
}

// An upright wall across the view at depth z.
void draw_wall(LabelCanvas& canvas, const StreetCamera& camera, float x1, float x2, float tall, float z,
               uint8_t label) {
  canvas.polygon(
      {camera.project(x1, 0, z), camera.project(x2, 0, z), camera.project(x2, tall, z), camera.project(x1, tall, z)},
      label);
}

void draw_house(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, const Side& side, float z1,
                float z2) {
  const bool town = side.style == Side::Style::town;
  const float tall = town ? random.uniform(8.0f, 24.0f) : random.uniform(3.0f, 8.0f);
  const float deep = town ? random.uniform(10.0f, 18.0f) : random.uniform(7.0f, 11.0f);
  const float near_x = side.sign * (side.houses + (town ? 0.0f : random.uniform(0.0f, 3.0f)));
  const float far_x = near_x + side.sign * deep;
  draw_wall(canvas, camera, near_x, far_x, tall, z1, kConstruction);
  draw_sheet(canvas, camera, {near_x, 0.0f}, {near_x, tall}, z1, z2, kConstruction);
  if (random.chance(town ? 0.35f : 0.85f)) {  // a pitched roof
    const float ridge = tall + random.uniform(1.5f, 4.0f);
    const float middle = 0.5f * (near_x + far_x);
    draw_sheet(canvas, camera, {near_x, tall}, {middle, ridge}, z1, z2, kConstruction);
    canvas.polygon(
        {camera.project(near_x, tall, z1), camera.project(far_x, tall, z1), camera.project(middle, ridge, z1)},
        kConstruction);
  }
}

// A row of bushes or of trees that have grown together.
void draw_thicket(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, const Side& side, float z1,
                  float z2) {
  const float tall = random.uniform(1.5f, 5.0f);
  const float x = side.sign * side.houses;
  draw_wall(canvas, camera, x, x + side.sign * 8.0f, tall, z1, kNature);
  draw_sheet(canvas, camera, {x, 0.0f}, {x, tall}, z1, z2, kNature);
  const int64_t trees = 1 + random.below(3);
  for (int64_t k = 0; k < trees; ++k) {
    const float away = side.sign * random.uniform(0.0f, 5.0f);
    const float z = z2 - (z2 - z1) * (static_cast<float>(k) + random.uniform()) / static_cast<float>(trees);
    draw_tree(canvas, camera, random, x + away, z);
  }
}

// Lines the side from the far end to the near one.
void draw_row(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, const Side& side) {
  float z2 = kFarthest;
  while (z2 > kNearest) {
    const float length = side.style == Side::Style::town ? random.uniform(10.0f, 28.0f) : random.uniform(7.0f, 16.0f);
    const float z1 = std::max(z2 - length, kNearest);
    const float plants = side.style == Side::Style::park ? 0.9f : side.style == Side::Style::suburb ? 0.4f : 0.08f;
    if (random.chance(plants)) {
      draw_thicket(canvas, camera, random, side, z1, z2);
    } else {
      draw_house(canvas, camera, random, side, z1, z2);
    }
    // An occasional side street, or a garden between suburban houses.
    const bool gap = random.chance(side.style == Side::Style::suburb ? 0.6f : 0.15f);
    z2 = z1 - (gap ? random.uniform(3.0f, 10.0f) : 0.0f);
  }
}

// The view at the end of the street: houses, trees, or only the sky above low bushes.
void draw_end(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random) {
  const bool open = random.chance(0.35f);
  for (float x = -160.0f; x < 160.0f;) {
    const float wide = random.uniform(8.0f, 30.0f);
    const bool house = random.chance(0.5f);
    const float tall = open ? random.uniform(1.5f, 6.0f) : random.uniform(5.0f, 26.0f);
    draw_wall(canvas, camera, x, x + wide, tall, kFarthest, house ? kConstruction : kNature);
    x += wide;
  }
}

void draw_ground(LabelCanvas& canvas, const StreetCamera& camera, const Side& side) {
  const float lawn = side.lawn ? side.houses - 2.0f : side.houses;
  if (side.style == Side::Style::town) return;
  for (float z = kFarthest; z > kNearest; z *= 0.6f)
    draw_sheet(canvas, camera, {side.sign * std::max(lawn, side.kerb + 1.0f), 0.0f}, {side.sign * 200.0f, 0.0f},
               std::max(0.6f * z, 0.7f * kNearest), z, kNature);
}

// Depths of a row of things, `gap` metres apart on average.
template <class Add>
void along(ItemRandom& random, float first, float gap, Add&& add) {
  for (float z = first + gap * random.uniform(); z < 0.7f * kFarthest; z += gap * random.uniform(0.7f, 1.3f)) add(z);
}

void add_pavement(std::vector<Thing>& things, ItemRandom& random, const Side& side) {
  using Kind = Thing::Kind;
  const auto on_pavement = [&] { return side.sign * random.uniform(side.kerb + 0.8f, side.houses - 0.4f); };
  const float at_kerb = side.sign * (side.kerb + 0.5f);
  if (random.chance(side.style == Side::Style::town ? 0.4f : 0.7f))
    along(random, 7.0f, random.uniform(8.0f, 22.0f), [&](float z) {
      things.push_back({Kind::tree, at_kerb + side.sign * 0.4f, z, side.sign});
    });
  along(random, 5.0f, random.uniform(9.0f, 26.0f), [&](float z) {
    things.push_back({Kind::pole, at_kerb, z, side.sign});
  });
  along(random, 5.5f, side.style == Side::Style::town ? random.uniform(3.0f, 24.0f) : random.uniform(9.0f, 50.0f),
        [&](float z) {
          const float x = on_pavement();
          const int64_t group = 1 + (random.chance(0.45f) ? 1 + random.below(3) : 0);
          for (int64_t k = 0; k < group; ++k)
            things.push_back({Kind::person, x + 0.6f * static_cast<float>(k), z + random.uniform(), side.sign});
        });
  if (random.chance(0.3f)) things.push_back({Kind::clutter, on_pavement(), random.uniform(6.0f, 30.0f), side.sign});
}

void add_traffic(std::vector<Thing>& things, ItemRandom& random, const Side& left, const Side& right) {
  using Kind = Thing::Kind;
  for (const Side* side : {&left, &right})
    if (side->kerb > 4.0f && random.chance(0.65f))  // parked
      along(random, 5.0f, random.uniform(6.0f, 14.0f), [&](float z) {
        things.push_back({Kind::car, side->sign * (side->kerb - 1.1f), z, side->sign});
      });
  const float parked = 2.2f;
  const float oncoming = -std::max(left.kerb - parked, 2.6f) * 0.62f - 0.6f;
  along(random, 8.0f, random.uniform(16.0f, 70.0f), [&](float z) {
    things.push_back({Kind::car, oncoming, z, -1.0f});
  });
  along(random, 9.0f, random.uniform(18.0f, 60.0f), [&](float z) {
    things.push_back({Kind::car, random.normal(0.0f, 0.25f), z, 1.0f});
  });
  if (random.chance(0.25f))
    things.push_back({Kind::rider, right.kerb - random.uniform(0.5f, 1.2f), random.uniform(7.0f, 30.0f), 1.0f});
  if (random.chance(0.18f)) {  // crossing
    const float z = random.uniform(8.0f, 30.0f);
    const int64_t count = 1 + random.below(4);
    for (int64_t k = 0; k < count; ++k)
      things.push_back({Kind::person, random.uniform(-left.kerb, right.kerb), z + random.uniform(), 1.0f});
  }
}

void draw_thing(LabelCanvas& canvas, const StreetCamera& camera, ItemRandom& random, const Thing& thing) {
  using Kind = Thing::Kind;
  switch (thing.kind) {
    case Kind::tree:
      return draw_tree(canvas, camera, random, thing.x, thing.z);
    case Kind::pole:
      return draw_pole(canvas, camera, random, thing.x, thing.z, thing.side);
    case Kind::person:
      return draw_person(canvas, camera, random, thing.x, thing.z);
    case Kind::rider:
      return draw_rider(canvas, camera, random, thing.x, thing.z);
    case Kind::car:
      return draw_car(canvas, camera, random, thing.x, thing.z);
    case Kind::clutter:
      return draw_clutter(canvas, camera, random, thing.x, thing.z);
  }
}

void draw_bonnet(LabelCanvas& canvas, ItemRandom& random) {
  const auto height = static_cast<float>(canvas.height());
  const auto width = static_cast<float>(canvas.width());
  const float rise = random.uniform(0.05f, 0.12f) * height;
  const float down = random.uniform(0.2f, 0.4f) * height;
  const Point middle{width * random.uniform(0.46f, 0.54f), height - rise + down};
  canvas.ellipse(middle, width * random.uniform(0.55f, 0.8f), down, kVoid);
}

}  // namespace

const std::vector<SourceOption>& streets_options() {
  static const std::vector<SourceOption> kOptions{{"height", "rows of pixels (64)"},
                                                  {"width", "columns of pixels (twice the height)"},
                                                  {"seed", "which endless sequence (0)"}};
  return kOptions;
}

std::unique_ptr<DataSource> make_streets_source(const SourceName& name) {
  name.require_known_options(streets_options());
  if (name.has_target()) fail_input("data source ", name.text(), ": streets is built in and reads no file");
  const int64_t height = name.integer("height", 64, kSizes);
  const int64_t width = name.integer("width", std::min(2 * height, kSizes.high), kSizes);
  const int64_t seed = name.integer("seed", 0, {0, std::numeric_limits<int64_t>::max()});
  const auto draw = [height, width](ItemRandom random, uint8_t* out) {
    LabelCanvas canvas(out, height, width);
    draw_street(canvas, random);
  };
  const LabelSet labels = cityscapes_categories();
  return make_generated_source(
      Space::image(height, width, static_cast<int64_t>(labels.names.size()), labels),
      Purpose::streets, static_cast<uint64_t>(seed), draw);
}

void draw_street(LabelCanvas& canvas, ItemRandom& random) {
  const StreetCamera camera = StreetCamera::draw(canvas, random);
  const Side left = draw_side(random, -1.0f);
  const Side right = draw_side(random, 1.0f);
  canvas.fill(kSky);
  const auto width = static_cast<float>(canvas.width());
  const float horizon = camera.pixels * camera.horizon;
  canvas.polygon({{0.0f, horizon}, {width, horizon}, {width, camera.pixels}, {0.0f, camera.pixels}}, kFlat);
  draw_end(canvas, camera, random);
  for (const Side* side : {&left, &right}) draw_ground(canvas, camera, *side);
  for (const Side* side : {&left, &right}) draw_row(canvas, camera, random, *side);
  std::vector<Thing> things;
  for (const Side* side : {&left, &right}) add_pavement(things, random, *side);
  add_traffic(things, random, left, right);
  std::stable_sort(things.begin(), things.end(), [](const Thing& a, const Thing& b) { return a.z > b.z; });
  for (const Thing& thing : things) draw_thing(canvas, camera, random, thing);
  draw_bonnet(canvas, random);
}

}  // namespace segre
