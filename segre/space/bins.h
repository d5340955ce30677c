#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace segre {

/// The intervals of numbers or dates that a variable's first labels represent: label k is [edges[k], edges[k + 1]), and
/// the last interval includes its upper end.
struct Bins {
  /// The kind of values: numbers, or dates and times of day written down to this unit.
  enum class Unit { number, day, minute, second };
  /// Numbers with more than 15 digits after the point: written with as many digits as they need.
  static constexpr int64_t kAnyDecimals = -1;

  Unit unit = Unit::number;
  std::vector<double> edges;  ///< ascending, the last two may be equal; dates in seconds since 1970-01-01 00:00
  int64_t decimals = 0;       ///< for numbers: digits after the point in the data, 0 to 15, or kAnyDecimals

  /// Number of bins.
  int64_t size() const { return static_cast<int64_t>(edges.size()) - 1; }
  /// Parses a value: a finite number, or a moment as read by parse_moment.
  std::optional<double> parse(std::string_view text) const;
  /// The bin of a value; values below all bins go to the first, values above to the last.
  int64_t find(double value) const;
  /// The name of a bin: "[20, 35)", the last one "[35, 80]", "[2020-01-03, 2021-05-06)".
  std::string name(int64_t bin) const;
  /// Whether a value lies within the bins, that is between the smallest and the largest value of the data.
  bool covers(double value) const { return value >= edges.front() && value <= edges.back(); }
  /// How far a value lies beyond the bins, in widths of the nearest one (at least 1% of the range); 0 if it lies
  /// within. Among n fresh values of a skewed distribution a few lie beyond the n that training had, but hardly any by
  /// more than 1.
  double beyond(double value) const;
  /// The smallest and the largest value: "17 to 90".
  std::string range() const;
  /// A value in the bin, written like the data: uniform over the values they can hold if u is uniform on [0, 1).
  std::string draw(int64_t bin, double u) const;

  /// Throws InputError, starting with `what`, if the edges are fewer than two, not finite, or not ascending.
  void check(const std::string& what) const;
  /// The form stored in checkpoints, and back; from_json throws InputError or nlohmann's exceptions.
  nlohmann::json to_json() const;
  static Bins from_json(const nlohmann::json& json);
};

/// Parses a finite number, ignoring spaces around it; nothing for any other text.
std::optional<double> parse_number(std::string_view text);

/// Number of digits a number needs after the point, from 0 to 15, or Bins::kAnyDecimals.
int64_t decimals_of(double value);

}  // namespace segre
