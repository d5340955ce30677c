#include "segre/data/source_name.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "segre/core/error.h"
#include "segre/core/text.h"

namespace segre {
namespace {

std::optional<int64_t> parse_integer(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_within(const std::string& text, SourceName::Bounds bounds) {
  const auto value = parse_integer(text);
  return value && *value >= bounds.low && *value <= bounds.high ? value : std::nullopt;
}

std::string describe(SourceName::Bounds bounds) { return concat("from ", bounds.low, " to ", bounds.high); }

// Whether text starts like "key=".
bool looks_like_options(const std::string& text) {
  const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return end != std::string::npos && end > 0 && text[end] == '=';
}

// The position of the question mark before the options; npos if there are none.
size_t find_options(const std::string& text) {
  for (size_t at = text.rfind('?'); at != std::string::npos; at = at > 0 ? text.rfind('?', at - 1) : std::string::npos)
    if (looks_like_options(text.substr(at + 1))) return at;
  return std::string::npos;
}

// The value of the two hexadecimal digits at `at`; -1 if there are none.
int hexadecimal_at(const std::string& text, size_t at) {
  int value = 0;
  if (at + 2 > text.size()) return -1;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 2, value, 16);
  return error == std::errc() && end == text.data() + at + 2 && value >= 0 ? value : -1;
}

std::string unescaped(const std::string& word) {
  std::string out;
  for (size_t k = 0; k < word.size(); ++k) {
    const int code = word[k] == '%' ? hexadecimal_at(word, k + 1) : -1;
    out += code < 0 ? word[k] : static_cast<char>(code);
    if (code >= 0) k += 2;
  }
  return out;
}

}  // namespace

std::string escaped(const std::string& word) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const std::string ending = ",|&?";
  std::string out;
  for (size_t k = 0; k < word.size(); ++k) {
    const auto c = static_cast<unsigned char>(word[k]);
    const bool is_special = ending.find(word[k]) != std::string::npos || (c == '%' && hexadecimal_at(word, k + 1) >= 0);
    out += is_special ? std::string{'%', kDigits[c >> 4], kDigits[c & 15]} : std::string(1, word[k]);
  }
  return out;
}

SourceName parse_source_name(const std::string& text) {
  SourceName name;
  name.text_ = text;
  const size_t mark = find_options(text);
  const std::string where = text.substr(0, mark);
  const size_t colon = where.find(':');
  name.kind_ = where.substr(0, colon);
  name.has_target_ = colon != std::string::npos;
  if (name.has_target_) name.target_ = where.substr(colon + 1);
  if (mark == std::string::npos) return name;
  for (const std::string& piece : split(text.substr(mark + 1), '&')) {
    const size_t equals = piece.find('=');
    if (equals == std::string::npos)
      fail_input("data source ", text, ": option '", piece, "' has no value, key=value was expected");
    const std::string key = piece.substr(0, equals);
    if (name.has(key)) fail_input("data source ", text, ": option ", key, " is given twice");
    name.options_.emplace_back(key, piece.substr(equals + 1));
  }
  return name;
}

const std::string* SourceName::find(const std::string& key) const {
  const auto at =
      std::find_if(options_.begin(), options_.end(), [&](const auto& option) { return option.first == key; });
  return at != options_.end() ? &at->second : nullptr;
}

SourceName SourceName::with(const std::string& key, const std::string& value) const {
  SourceName changed = *this;
  auto& options = changed.options_;
  const auto at = std::find_if(options.begin(), options.end(), [&](const auto& option) { return option.first == key; });
  if (at != options.end()) {
    at->second = value;
  } else {
    options.emplace_back(key, value);
  }
  changed.text_ = kind_ + (has_target_ ? ":" + target_ : "");
  for (const auto& option : options)
    changed.text_ += concat(&option == options.data() ? "?" : "&", option.first, "=", option.second);
  return changed;
}

void SourceName::fail_option(const std::string& key, const std::string& expected) const {
  const std::string* value = find(key);
  fail_input("data source ", text_, ": option ", key, " is '", value != nullptr ? *value : "", "', ", expected,
             " was expected");
}

void SourceName::require_known_options(const std::vector<SourceOption>& options) const {
  std::vector<std::string> names;
  for (const SourceOption& option : options) names.push_back(option.name);
  for (const auto& [key, value] : options_) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    if (names.empty()) fail_input("data source ", text_, ": unknown option ", key, "; ", kind_, " has no options");
    fail_input("data source ", text_, ": unknown option ", key, "; the nearest is ", nearest(key, names), ", ", kind_,
               " has ", join(names, ", "));
  }
}

int64_t SourceName::integer(const std::string& key, int64_t fallback, Bounds bounds) const {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  const auto number = parse_within(*value, bounds);
  if (!number) fail_option(key, "a whole number " + describe(bounds));
  return *number;
}

int64_t SourceName::limit() const {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  return integer("limit", kAll, {1, kAll});
}

bool SourceName::flag(const std::string& key, bool fallback) const {
  const std::string given = choice(key, fallback ? "1" : "0", {"1", "0", "yes", "no", "true", "false"});
  return given == "1" || given == "yes" || given == "true";
}

std::string SourceName::choice(const std::string& key, const std::string& fallback,
                               const std::vector<std::string>& choices) const {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  if (std::find(choices.begin(), choices.end(), *value) == choices.end())
    fail_option(key, "one of " + join(choices, ", "));
  return *value;
}

std::string SourceName::word(const std::string& key, const std::string& fallback) const {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  if (value->empty()) fail_option(key, "a value");
  return *value;
}

std::vector<std::string> SourceName::words(const std::string& key, char separator) const {
  if (!has(key)) return {};
  auto pieces = split(*find(key), separator);
  if (std::find(pieces.begin(), pieces.end(), "") != pieces.end())
    fail_option(key, concat("a list a", separator, "b", separator, "..."));
  for (std::string& piece : pieces) piece = unescaped(piece);
  return pieces;
}

std::vector<int64_t> SourceName::integers(const std::string& key, Bounds bounds) const {
  std::vector<int64_t> numbers;
  for (const std::string& piece : words(key)) {
    const auto number = parse_within(piece, bounds);
    if (!number) fail_option(key, concat("a list of whole numbers ", describe(bounds)));
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::pair<int64_t, int64_t>> SourceName::pairs(const std::string& key, Bounds bounds) const {
  std::vector<std::pair<int64_t, int64_t>> found;
  for (const std::string& piece : words(key)) {
    const auto sides = split(piece, ':');
    const auto from = parse_within(sides.front(), bounds);
    const auto to = parse_within(sides.back(), bounds);
    if (sides.size() != 2 || !from || !to)
      fail_option(key, concat("a list of pairs from:to of whole numbers ", describe(bounds)));
    found.emplace_back(*from, *to);
  }
  return found;
}

}  // namespace segre
