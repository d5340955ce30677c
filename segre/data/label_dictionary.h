#pragma once  // internal

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace segre {

/// The texts found in a column, numbered in order of appearance, sorted at the end.
class LabelDictionary {
 public:
  /// The number of a text; a new one if it was not seen before.
  int32_t number(std::string_view text);
  /// The number of a text that has one.
  int32_t at(std::string_view text) const { return numbers_.find(text)->second; }
  /// Whether the text has a number.
  bool has(std::string_view text) const { return numbers_.find(text) != numbers_.end(); }
  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  /// The texts in the order of their numbers.
  const std::vector<std::string>& names() const { return names_; }

  /// The texts in another order, and where each number went: names[place[number]] is its text.
  struct Sorted {
    std::vector<std::string> names;
    std::vector<int32_t> place;
  };
  /// Sorted as numbers if all are integers ("2" before "10"), else as text; the text `last` goes last and need not be
  /// an integer.
  Sorted sorted(std::string_view last = {}) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> numbers_;
  std::vector<std::string> names_;
};

/// Whether the whole text is a 64-bit integer.
bool is_integer(std::string_view text);
/// Whether the whole text is a number, with or without a fraction.
bool is_number(std::string_view text);

/// Whether a text of digits is a code rather than a number: it begins with a zero, as 007, or is so large that a
/// float64 does not hold it, as 9007199254740993.
bool is_code(std::string_view text);

/// Name of the label for missing values in a table.
inline constexpr const char* kMissingName = "(missing)";

/// Whether a text in a table means a missing value wherever it is: an empty text, NA, N/A, NaN, null and the like, as
/// pandas.read_csv has them, or kMissingName, which samples contain.
bool is_missing(std::string_view text);
/// Whether a text means a missing value if the column shows that it does: ?, -, unknown, inf and the like. Among
/// numbers or dates they do. A ? also does among labels, if all of them are words: is_word.
bool is_missing_mark(std::string_view text);
/// Whether a text has a letter or a digit.
bool is_word(std::string_view text);

/// Labels as messages list them: "blue, green, red", or the first few of many: "a, b, c, ... (300 in all)".
std::string list_labels(const std::vector<std::string>& names);

}  // namespace segre
