#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace segre {

/// What the first labels of a variable represent in a column of numbers or dates: intervals, then single values.
/// Interval k is [edges[k], edges[k + 1]), and the last one includes its upper end.
///
/// Bins are intervals that the user asked for: their names are the labels. Levels are the library's own way to write a
/// column as labels: cells are values, drawn and scored within their interval. Up to `fine` neighbouring intervals
/// share a label; which of them it is, is the label of a second variable. Values that recur have labels of their own.
struct Bins {
  /// The kind of values: numbers, or dates and times of day written down to this unit.
  enum class Unit { number, day, minute, second };
  /// Numbers with more than 15 digits after the point: written with as many digits as they need.
  static constexpr int64_t kAnyDecimals = -1;

  Unit unit = Unit::number;
  std::vector<double> edges;  ///< ascending, the last two may be equal; dates in seconds since 1970-01-01 00:00
  /// For numbers: digits after the point in the data, 0 to 15, or kAnyDecimals. For seconds, 0 to 6 digits.
  int64_t decimals = 0;
  bool are_levels = false;    ///< the fields below are of levels only
  int64_t fine = 1;           ///< intervals that share a label
  std::vector<double> own{};  ///< values with a label of their own, ascending
  bool are_points = false;    ///< the data have no value of an interval but its lower end
  int64_t stride = 1;         ///< all values are multiples of this many units of the last digit
  /// How many digits after the point the data write at least: 0.5 and 0.25 if it is 1; unset: always `decimals`.
  std::optional<int64_t> least_digits{};

  /// How dates, times of day and durations are written, such as "%d.%m.%Y"; moment.h describes patterns. Empty: as
  /// YYYY-MM-DD HH:MM:SS.
  std::string pattern{};

  /// Where a value belongs: its label, and that of the second variable, 0 if the label has a single interval.
  struct Place {
    int64_t label = 0;
    int64_t within = 0;
  };

  /// Number of intervals, and of the labels that stand for them.
  int64_t n_intervals() const { return edges.empty() ? 0 : static_cast<int64_t>(edges.size()) - 1; }
  int64_t n_shared() const { return (n_intervals() + fine - 1) / fine; }
  /// Number of labels that represent numbers: those of intervals, then those of single values.
  int64_t size() const { return n_shared() + static_cast<int64_t>(own.size()); }
  /// Whether the column is a measurement rather than a few values that may well be labels: levels alone.
  bool is_measured() const { return are_levels && (!edges.empty() || static_cast<int64_t>(own.size()) > kFewValues); }
  static constexpr int64_t kFewValues = 20;
  /// Number of variables of the column: 2 if intervals share labels.
  int64_t n_variables() const { return fine > 1 ? 2 : 1; }
  /// What a value is called: "number", "date", "time of day" or "duration".
  const char* called() const;
  /// Whether the values are moments of a time zone, or of UTC.
  bool has_zone() const;
  /// Parses a value: a finite number, or a moment of the pattern or written as YYYY-MM-DD HH:MM:SS.
  std::optional<double> parse(std::string_view text) const;
  /// The label of a value; values below all intervals go to the first, values above to the last.
  int64_t find(double value) const { return place(value).label; }
  /// The same with the label of the second variable. Among single values, the nearest.
  Place place(double value) const;
  /// The number of a place among the intervals, then the single values, and back.
  int64_t number_of(Place place) const;
  Place place_of(int64_t number) const;
  /// The name of a label: "[20, 35)", the last one "[35, 80]", "[2020-01-03, 2021-05-06)", or a single value.
  std::string name(int64_t label) const;
  /// The smallest and the largest value of the data.
  double least() const;
  double largest() const;
  /// Whether a value lies between them.
  bool covers(double value) const { return value >= least() && value <= largest(); }
  /// How far a value lies beyond the range, in words: "110 above", "31 days below".
  std::string distance(double value) const;
  /// How far a value lies beyond the bins, in widths of the nearest one (at least 1% of the range); 0 if it lies
  /// within. Among n fresh values of a skewed distribution a few lie beyond the n that training had, but hardly any by
  /// more than 1.
  double beyond(double value) const;
  /// The smallest and the largest value: "17 to 90".
  std::string range() const;
  /// A value of a label, written like the data: uniform over the values they can hold if u is uniform on [0, 1).
  std::string draw(int64_t label, double u) const { return draw(Place{label, 0}, u); }
  std::string draw(Place place, double u) const;
  /// The log density of a value at a place, given the place: -log of the width of its interval in units (numbers: 1;
  /// dates: days, minutes or seconds), 0 for a single value, which has a probability.
  double log_density(Place place) const;
  /// Where the probabilities p [size()] of the labels, summing to 1, reach q: of intervals that share a label each is
  /// as likely as the others.
  double quantile(const double* p, double q) const;
  /// The mean under the same distribution.
  double mean(const double* p) const;
  /// A value as the data would write it.
  std::string text_of(double value) const;

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
