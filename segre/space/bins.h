#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace segre {

/// The intervals of numbers or dates that the first labels of a variable stand for: label k is
/// [edges[k], edges[k + 1]), and the last of them has its upper end too.
struct Bins {
  /// What the values are: numbers, or dates and times of day that are written down to this unit.
  enum class Unit { number, day, minute, second };
  /// Numbers with more digits after the point than a decimal fraction has: as many are written as it takes.
  static constexpr int64_t kAnyDecimals = -1;

  Unit unit = Unit::number;
  std::vector<double> edges;  ///< ascending, the last two may be equal; of dates seconds since 1970-01-01 00:00
  int64_t decimals = 0;       ///< of numbers: digits after the point of the data, 0 to 15, or kAnyDecimals

  /// How many there are.
  int64_t size() const { return static_cast<int64_t>(edges.size()) - 1; }
  /// The value that a text stands for: a finite number, or a moment as parse_moment reads it.
  std::optional<double> parse(std::string_view text) const;
  /// The bin of a value: the first and the last one also have what lies below and above all of them.
  int64_t find(double value) const;
  /// What a bin is called: "[20, 35)", the last one "[35, 80]", "[2020-01-03, 2021-05-06)".
  std::string name(int64_t bin) const;
  /// A value of the bin, written as the data were: uniform among those they could hold if u is uniform on [0, 1).
  std::string draw(int64_t bin, double u) const;

  /// InputError, starting with `what`, where the edges are none: fewer than two, not finite, or not ascending.
  void check(const std::string& what) const;
  /// As a checkpoint keeps them, and back; from_json throws InputError or nlohmann's exceptions.
  nlohmann::json to_json() const;
  static Bins from_json(const nlohmann::json& json);
};

/// A finite number, spaces around it left out; nothing for any other text.
std::optional<double> parse_number(std::string_view text);

/// How many digits after the point a number needs, from 0 to 15, or Bins::kAnyDecimals.
int64_t decimals_of(double value);

}  // namespace segre
