#include "segre/sources/label_canvas.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace segre {
namespace {

// The first pixel with its centre at or after x, clamped to 0 ... size.
int64_t first_pixel(float x, int64_t size) {
  return static_cast<int64_t>(std::ceil(std::clamp(x - 0.5f, 0.0f, static_cast<float>(size))));
}

// One past the last pixel with its centre at or before x.
int64_t end_pixel(float x, int64_t size) {
  return static_cast<int64_t>(std::floor(std::clamp(x + 0.5f, 0.0f, static_cast<float>(size))));
}

float turn(Point a, Point b, Point c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }

}  // namespace

void LabelCanvas::fill(uint8_t label) { std::fill_n(out_, height_ * width_, label); }

void LabelCanvas::span(int64_t row, float left, float right, uint8_t label) {
  const int64_t begin = first_pixel(left, width_);
  const int64_t end = end_pixel(right, width_);
  if (begin < end) std::fill(out_ + row * width_ + begin, out_ + row * width_ + end, label);
}

void LabelCanvas::convex(const Point* corners, int count, uint8_t label) {
  float top = corners[0].y;
  float bottom = top;
  for (int k = 1; k < count; ++k) {
    top = std::min(top, corners[k].y);
    bottom = std::max(bottom, corners[k].y);
  }
  for (int64_t row = first_pixel(top, height_); row < end_pixel(bottom, height_); ++row) {
    const float y = static_cast<float>(row) + 0.5f;
    float left = std::numeric_limits<float>::max();
    float right = std::numeric_limits<float>::lowest();
    for (int k = 0; k < count; ++k) {
      const Point a = corners[k];
      const Point b = corners[(k + 1) % count];
      if ((a.y > y) == (b.y > y)) continue;
      const float x = a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y);
      left = std::min(left, x);
      right = std::max(right, x);
    }
    span(row, left, right, label);
  }
}

void LabelCanvas::polygon(std::initializer_list<Point> corners, uint8_t label) {
  convex(corners.begin(), static_cast<int>(corners.size()), label);
}

// Andrew's monotone chain.
void LabelCanvas::hull(const Point* points, int count, uint8_t label) {
  Point sorted[kMaxHull];
  Point chain[2 * kMaxHull];
  count = std::min(count, kMaxHull);
  std::copy_n(points, count, sorted);
  std::sort(sorted, sorted + count, [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  int size = 0;
  const auto add = [&](Point p, int floor) {
    while (size >= floor + 2 && turn(chain[size - 2], chain[size - 1], p) <= 0.0f) --size;
    chain[size++] = p;
  };
  for (int k = 0; k < count; ++k) add(sorted[k], 0);
  const int lower = size - 1;
  for (int k = count - 2; k >= 0; --k) add(sorted[k], lower);
  convex(chain, size - 1, label);
}

void LabelCanvas::ellipse(Point centre, float across, float down, uint8_t label) {
  for (int64_t row = first_pixel(centre.y - down, height_); row < end_pixel(centre.y + down, height_); ++row) {
    const float y = (static_cast<float>(row) + 0.5f - centre.y) / down;
    const float half = across * std::sqrt(std::max(0.0f, 1.0f - y * y));
    span(row, centre.x - half, centre.x + half, label);
  }
}

void LabelCanvas::bar(float x, float bar_width, float top, float bottom, uint8_t label) {
  // The half-open pixel around x when the bar is thinner than a pixel.
  const float middle = std::floor(x) + 0.5f;
  const bool thin = bar_width < 1.0f;
  const float left = thin ? middle : x - bar_width / 2;
  const float right = thin ? middle : x + bar_width / 2;
  for (int64_t row = first_pixel(top, height_); row < end_pixel(bottom, height_); ++row)
    if (!thin || (middle > 0.0f && middle < static_cast<float>(width_))) span(row, left, right, label);
}

}  // namespace segre
