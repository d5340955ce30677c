#include "segre/data/label_dictionary.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>
#include <tuple>

#include "segre/core/error.h"
#include "segre/core/utf8.h"

namespace segre {
namespace {

template <class Number>
bool parses_as(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool is_integer(std::string_view text) {
  int64_t value = 0;
  return parses_as(text, value);
}

bool is_number(std::string_view text) {
  double value = 0.0;
  return parses_as(text, value);
}

bool is_code(std::string_view text) {
  constexpr double kLargest = 0x1p53;  // below, float64 holds all whole numbers
  if (text.starts_with('-')) text.remove_prefix(1);
  double value = 0.0;
  if (!parses_as(text, value))
    return text.size() > 15 && text.find_first_not_of("0123456789") == std::string_view::npos;
  const bool has_zero = text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
  return has_zero || (value >= kLargest && text.find_first_not_of("0123456789") == std::string_view::npos);
}

int32_t LabelDictionary::number(std::string_view text) {
  const auto at = numbers_.find(text);
  if (at != numbers_.end()) return at->second;
  const auto number = static_cast<int32_t>(names_.size());
  names_.emplace_back(text);
  numbers_.emplace(names_.back(), number);
  return number;
}

LabelDictionary::Sorted LabelDictionary::sorted(std::string_view last) const {
  std::vector<int64_t> values(names_.size(), 0);  // all 0 if any text is not an integer: the texts decide
  const bool numeric = std::all_of(names_.begin(), names_.end(),
                                   [&](const std::string& name) { return name == last || is_integer(name); });
  if (numeric)
    for (size_t i = 0; i < names_.size(); ++i) parses_as(names_[i], values[i]);
  const auto key = [&](int32_t i) {
    return std::tuple(!last.empty() && names_[i] == last, values[i], std::string_view(names_[i]));
  };
  std::vector<int32_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t x, int32_t y) { return key(x) < key(y); });
  Sorted sorted{{}, std::vector<int32_t>(names_.size())};
  for (const int32_t number : order) {
    sorted.place[number] = static_cast<int32_t>(sorted.names.size());
    sorted.names.push_back(names_[number]);
  }
  return sorted;
}

bool is_missing(std::string_view text) {
  static constexpr std::string_view kMissing[] = {
      "",    "NA",   "N/A",  "NaN", "nan",    "null",    "NULL",    "None",     "n/a",      "<NA>",      "#N/A",
      "#NA", "-NaN", "-nan", "NaT", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN", "#N/A N/A", kMissingName};
  constexpr size_t kLongest = 9;  // the length or the first character rules out most texts
  constexpr std::string_view kFirst = "Nn<#-1(";
  if (text.size() > kLongest || (!text.empty() && kFirst.find(text[0]) == std::string_view::npos)) return false;
  return std::find(std::begin(kMissing), std::end(kMissing), text) != std::end(kMissing);
}

bool is_missing_mark(std::string_view text) {
  static constexpr std::string_view kMarks[] = {
      "?",    "-",  "--",   "---", ".",    "..",       "unknown",   "Unknown", "UNKNOWN", "missing", "Missing",
      "none", "na", "n.a.", "inf", "-inf", "Infinity", "-Infinity", "Inf",     "-Inf",    "NONE"};
  constexpr size_t kLongest = 9;
  constexpr std::string_view kFirst = "?-.uUmMnNiI";
  if (text.empty() || text.size() > kLongest || kFirst.find(text[0]) == std::string_view::npos) return false;
  return std::find(std::begin(kMarks), std::end(kMarks), text) != std::end(kMarks);
}

bool is_word(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
    return !is_ascii || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::string list_labels(const std::vector<std::string>& names) {
  constexpr size_t kMostListed = 8;
  std::string list;
  for (size_t k = 0; k < names.size() && k < kMostListed; ++k) list += concat(k > 0 ? ", " : "", printable(names[k]));
  return names.size() <= kMostListed ? list : concat(list, ", ... (", names.size(), " in all)");
}

}  // namespace segre
