#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace segre {

/// An option of a kind of source, and what it does in a few words.
struct SourceOption {
  std::string name;
  std::string help;
};

/// A source name, parsed once: `kind:target?key=value&key=value`; target and options may be absent.
///
///   const auto name = parse_source_name("idx:train-images-idx3-ubyte.gz?pad=2");
///   name.integer("pad", 0, {0, 64});   // 2
///
/// The getters return `fallback` if the option is absent, and throw InputError naming source, option, value and what
/// was expected.
class SourceName {
 public:
  struct Bounds {
    int64_t low;
    int64_t high;
  };

  /// The whole name, as given.
  const std::string& text() const { return text_; }
  const std::string& kind() const { return kind_; }
  /// What follows the colon: a file or folder.
  const std::string& target() const { return target_; }
  /// Whether there was a colon.
  bool has_target() const { return has_target_; }
  bool has(const std::string& key) const { return find(key) != nullptr; }
  /// All options as given, in their order: key and value.
  const std::vector<std::pair<std::string, std::string>>& options() const { return options_; }

  /// A whole number, both bounds included.
  int64_t integer(const std::string& key, int64_t fallback, Bounds bounds) const;
  /// 1, yes or true; 0, no or false.
  bool flag(const std::string& key, bool fallback) const;
  /// One of the choices.
  std::string choice(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& choices) const;
  /// Any non-empty text.
  std::string word(const std::string& key, const std::string& fallback) const;
  /// Whole numbers separated by commas; {} if absent.
  std::vector<int64_t> integers(const std::string& key, Bounds bounds) const;
  /// Words separated by commas or another separator; {} if absent. In a word %2C is a comma, %26 an ampersand: see
  /// escaped.
  std::vector<std::string> words(const std::string& key, char separator = ',') const;
  /// Pairs `from:to` of whole numbers separated by commas; {} if absent.
  std::vector<std::pair<int64_t, int64_t>> pairs(const std::string& key, Bounds bounds) const;

  /// `limit=N`, how many items to take; all if absent.
  int64_t limit() const;

  /// The name with an option changed or added.
  SourceName with(const std::string& key, const std::string& value) const;

  /// Throws InputError for an option that is not in the list, naming the nearest and the whole list.
  void require_known_options(const std::vector<SourceOption>& options) const;
  /// Throws InputError "data source TEXT: option KEY is 'VALUE', EXPECTED was expected".
  [[noreturn]] void fail_option(const std::string& key, const std::string& expected) const;

 private:
  friend SourceName parse_source_name(const std::string& text);
  const std::string* find(const std::string& key) const;

  std::string text_;
  std::string kind_;
  std::string target_;
  bool has_target_ = false;
  std::vector<std::pair<std::string, std::string>> options_;
};

/// Parses a name. The options start at the last question mark followed by `key=`, so file names may contain question
/// marks; the kind ends at the first colon. InputError for an option without a value or given twice.
SourceName parse_source_name(const std::string& text);

/// A word escaped for a list: "weight, kg" becomes "weight%2C kg". Commas, bars, ampersands and question marks, which
/// would end it, and a percent sign that would be read as an escape become % and two hexadecimal digits.
std::string escaped(const std::string& word);

}  // namespace segre
