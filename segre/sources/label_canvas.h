#pragma once  // internal

#include <cstdint>
#include <initializer_list>

namespace segre {

/// A point in the plane, x to the right, y down.
struct Point {
  float x;
  float y;
};

/// A label map to paint shapes on, later ones over earlier ones. A pixel belongs to a shape if its centre does;
/// anything outside the map is clipped. Coordinates are in pixels.
class LabelCanvas {
 public:
  /// Paints on `out`, [height * width], row by row.
  LabelCanvas(uint8_t* out, int64_t height, int64_t width) : out_(out), height_(height), width_(width) {}

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  /// The whole map.
  void fill(uint8_t label);
  /// A convex polygon.
  void polygon(std::initializer_list<Point> corners, uint8_t label);
  /// The convex hull of the points, at most kMaxHull of them.
  void hull(const Point* points, int count, uint8_t label);
  /// An ellipse with semi-axes across and down.
  void ellipse(Point centre, float across, float down, uint8_t label);
  /// An upright bar around x, at least one pixel wide, so that thin poles do not dissolve into dots.
  void bar(float x, float bar_width, float top, float bottom, uint8_t label);

  static constexpr int kMaxHull = 16;

 private:
  // Pixels of a row with centres in [left, right].
  void span(int64_t row, float left, float right, uint8_t label);
  void convex(const Point* corners, int count, uint8_t label);

  uint8_t* out_;
  int64_t height_;
  int64_t width_;
};

}  // namespace segre
