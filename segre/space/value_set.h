#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "segre/space/bins.h"

namespace segre {

/// Numbers, or dates in seconds, from one end to another.
struct Span {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool has_low = true;  ///< whether the end itself belongs to it
  bool has_high = true;
};

/// A set of numbers or dates: what a condition leaves of a column, such as 30..60 or all but 40.
class ValueSet {
 public:
  /// The empty set.
  ValueSet() = default;
  /// All values of these spans, in any order; those without a value are left out.
  explicit ValueSet(std::vector<Span> spans);
  static ValueSet of(double value) { return ValueSet({{value, value}}); }

  /// Ascending and apart.
  const std::vector<Span>& spans() const { return spans_; }
  bool empty() const { return spans_.empty(); }
  bool contains(double value) const;
  /// The only value, if there is no other.
  std::optional<double> single() const;
  /// All other values, and those that both sets have.
  ValueSet complement() const;
  ValueSet intersect(const ValueSet& other) const;

 private:
  std::vector<Span> spans_;
};

/// What a set leaves of the values at a place of bins, where each is as likely as the others.
class PlacePart {
 public:
  PlacePart(const Bins& bins, Bins::Place place, const ValueSet& values);

  /// The share of the place's values that are in the set, 0 to 1.
  double share() const { return share_; }
  /// The argument of Bins::draw that gives a value of the set, uniform over them if u is uniform on [0, 1).
  double within(double u) const;

 private:
  struct Piece {
    double from, to;  // numbers of values, if they are counted; else shares of the width
  };
  double share_ = 0.0;
  double count_ = 0.0;  // values of the place; 0: too many to count
  std::vector<Piece> pieces_;
};

/// What is given about the values of a column besides their labels: a value, or a set of them.
struct GivenValue {
  ValueSet values;
  std::optional<double> exact{};
};
/// By the column's first variable.
using GivenValues = std::map<int64_t, GivenValue>;

/// A value at a place written like the data: the given one with all its digits, or one of the set, uniform if u is
/// uniform on [0, 1). If the place has none, the nearest one to it.
std::string draw_given(const Bins& bins, Bins::Place place, const GivenValue& given, double u);

}  // namespace segre
