#include "segre/sources/glyphs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/sources/glyph_strokes.h"

namespace segre {
namespace {

constexpr int kPerSpan = 5;          // straight pieces between two points of a stroke
constexpr float kBox = 20.0f;        // side of the square that a digit fills
constexpr float kDigitWidth = 0.8f;  // of a form's box, relative to its height
constexpr int64_t kMaxPad = 1000;    // empty pixels per side

// A point on the pen's path and the radius of the pen there.
struct Ink {
  Point at;
  float radius;
  bool starts;  // a new stroke
};
using Line = std::vector<Ink>;

const GlyphForm& choose_form(int digit, ItemRandom& random) {
  const auto& forms = glyph_forms(digit);
  float total = 0.0f;
  for (const auto& form : forms) total += form.weight;
  float left = random.uniform() * total;
  for (const auto& form : forms)
    if ((left -= form.weight) < 0.0f) return form;
  return forms.back();
}

// The Catmull-Rom spline through p1 and p2, at s in [0, 1].
float spline(float p0, float p1, float p2, float p3, float s) {
  return p1 + 0.5f * s * (p2 - p0 + s * (2.0f * p0 - 5.0f * p1 + 4.0f * p2 - p3 + s * (3.0f * (p1 - p2) + p3 - p0)));
}

// How one writer's hand bends the plane: a stretch, a slant, a turn and two slow waves.
class Hand {
 public:
  explicit Hand(ItemRandom& random)
      : stretch_(kDigitWidth * random.uniform(0.7f, 1.4f)),
        slant_(random.normal(-0.16f, 0.22f)),
        turn_(random.normal(0.0f, 0.09f)) {
    for (Wave& wave : waves_)
      wave = {random.normal(0.0f, 0.045f), random.uniform(), random.uniform(0.3f, 0.9f), random.uniform(-0.5f, 0.5f)};
  }

  Point operator()(Point p) const {
    const float x = p.x + bend(waves_[0], p.y, p.x);
    const float y = p.y + bend(waves_[1], p.x, p.y);
    const float wide = (x - 0.45f) * stretch_ + (y - 0.5f) * slant_;
    const float high = y - 0.5f;
    return {wide - turn_ * high, high + turn_ * wide};
  }

 private:
  struct Wave {
    float size, phase, along, across;
  };
  static float bend(const Wave& wave, float along, float across) {
    const float turns = wave.phase + wave.along * along + wave.across * across;
    float sine;
    float cosine;
    scalar_math::sincos_2pi(turns - std::floor(turns), sine, cosine);
    return wave.size * sine;
  }
  float stretch_, slant_, turn_;
  Wave waves_[2];
};

// The same stroke by an unsteady hand. Shared ends take their jitter from `joints`, so they stay together.
Stroke jittered(const Stroke& stroke, ItemRandom& random, std::vector<std::pair<Point, Point>>& joints) {
  Stroke moved;
  for (const Point p : stroke) {
    const auto same = [&](const auto& joint) { return joint.first.x == p.x && joint.first.y == p.y; };
    const auto known = std::find_if(joints.begin(), joints.end(), same);
    if (known == joints.end()) {
      const float dx = random.normal(0.0f, 0.042f);
      moved.push_back({p.x + dx, p.y + random.normal(0.0f, 0.034f)});
      joints.emplace_back(p, moved.back());
    } else {
      moved.push_back(known->second);
    }
  }
  return moved;
}

// The pen's path through a form, in the form's units; radii are relative to the pen's.
Line write(const GlyphForm& form, ItemRandom& random) {
  const Hand hand(random);
  const float pressure = random.normal(0.0f, 0.12f);  // the pen widens or thins along its path
  std::vector<std::pair<Point, Point>> joints;
  Line line;
  for (const Stroke& plain : form.strokes) {
    const Stroke stroke = jittered(plain, random, joints);
    const auto last = static_cast<int>(stroke.size()) - 1;
    const auto point = [&](int k) { return stroke[static_cast<size_t>(std::clamp(k, 0, last))]; };
    for (int span = 0; span < last; ++span)
      for (int piece = span == 0 ? 0 : 1; piece <= kPerSpan; ++piece) {
        const float s = static_cast<float>(piece) / kPerSpan;
        const Point a = point(span - 1), b = point(span), c = point(span + 1), d = point(span + 2);
        const Point p{spline(a.x, b.x, c.x, d.x, s), spline(a.y, b.y, c.y, d.y, s)};
        const float way = (static_cast<float>(span) + s) / static_cast<float>(last) - 0.5f;
        line.push_back({hand(p), 1.0f + pressure * way, span == 0 && piece == 0});
      }
  }
  return line;
}

// Scales the line to fill the box with a pen of this radius and centres its mass, as MNIST does.
void fit(Line& line, float radius, ItemRandom& random) {
  Point low = line.front().at, high = low;
  Point mass{0.0f, 0.0f};
  float length = 0.0f;
  for (size_t k = 0; k < line.size(); ++k) {
    const Point p = line[k].at;
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    if (line[k].starts) continue;
    const Point q = line[k - 1].at;
    const float step = std::sqrt((p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y));
    mass = {mass.x + step * (p.x + q.x) / 2, mass.y + step * (p.y + q.y) / 2};
    length += step;
  }
  const float extent = std::max({high.x - low.x, high.y - low.y, 0.1f});
  const float scale = random.uniform(0.93f, 1.02f) * (kBox - 2.0f * radius) / extent;
  const float middle = static_cast<float>(kGlyphSide) / 2.0f;
  const Point shift{middle + random.normal(0.0f, 0.35f) - scale * mass.x / length,
                    middle + random.normal(0.0f, 0.35f) - scale * mass.y / length};
  for (Ink& ink : line)
    ink = {{scale * ink.at.x + shift.x, scale * ink.at.y + shift.y}, radius * ink.radius, ink.starts};
}

// Marks the pixels with centres within the pen's radius of the piece from a to b.
void draw_piece(const Ink& a, const Ink& b, uint8_t* out) {
  const float radius = std::max(0.5f * (a.radius + b.radius), 0.55f);  // thinner would leave gaps between pixels
  const auto first = [](float x) { return std::max(static_cast<int64_t>(std::ceil(x - 0.5f)), int64_t{0}); };
  const auto last = [](float x) { return std::min(static_cast<int64_t>(std::floor(x - 0.5f)), kGlyphSide - 1); };
  const float dx = b.at.x - a.at.x;
  const float dy = b.at.y - a.at.y;
  const float inverse = 1.0f / std::max(dx * dx + dy * dy, 1e-12f);
  for (int64_t row = first(std::min(a.at.y, b.at.y) - radius); row <= last(std::max(a.at.y, b.at.y) + radius); ++row)
    for (int64_t col = first(std::min(a.at.x, b.at.x) - radius); col <= last(std::max(a.at.x, b.at.x) + radius);
         ++col) {
      const float x = static_cast<float>(col) + 0.5f - a.at.x;
      const float y = static_cast<float>(row) + 0.5f - a.at.y;
      const float s = std::clamp((x * dx + y * dy) * inverse, 0.0f, 1.0f);
      const float ex = x - s * dx;
      const float ey = y - s * dy;
      if (ex * ex + ey * ey <= radius * radius) out[row * kGlyphSide + col] = 1;
    }
}

}  // namespace

void draw_glyph(int digit, ItemRandom& random, uint8_t* out) {
  std::fill_n(out, kGlyphSide * kGlyphSide, uint8_t{0});
  const float radius = std::clamp(random.normal(1.22f, 0.31f), 0.65f, 2.1f);
  Line line = write(choose_form(digit, random), random);
  fit(line, radius, random);
  for (size_t k = 1; k < line.size(); ++k)
    if (!line[k].starts) draw_piece(line[k - 1], line[k], out);
}

const std::vector<SourceOption>& glyphs_options() {
  static const std::vector<SourceOption> kOptions{{"pad", "empty pixels to add on each side (0)"},
                                                  {"classes", "digits to draw, e.g. 3,8 (all)"},
                                                  {"seed", "which endless sequence (0)"}};
  return kOptions;
}

std::unique_ptr<DataSource> make_glyphs_source(const SourceName& name) {
  name.require_known_options(glyphs_options());
  if (name.has_target()) fail_input("data source ", name.text(), ": glyphs is built in and reads no file");
  const int64_t pad = name.integer("pad", 0, {0, kMaxPad});
  const int64_t seed = name.integer("seed", 0, {0, std::numeric_limits<int64_t>::max()});
  auto digits = name.integers("classes", {0, 9});
  if (digits.empty()) digits = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const int64_t side = kGlyphSide + 2 * pad;
  const auto draw = [pad, side, digits](ItemRandom random, uint8_t* out) {
    const auto chosen = static_cast<size_t>(random.below(static_cast<int64_t>(digits.size())));
    uint8_t glyph[kGlyphSide * kGlyphSide];
    draw_glyph(static_cast<int>(digits[chosen]), random, glyph);
    std::fill_n(out, side * side, uint8_t{0});
    for (int64_t row = 0; row < kGlyphSide; ++row)
      std::copy_n(glyph + row * kGlyphSide, kGlyphSide, out + (row + pad) * side + pad);
  };
  return make_generated_source(Space::image(side, side, 2), Purpose::glyphs,
                               static_cast<uint64_t>(seed), draw);
}

}  // namespace segre
