#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace segre {

/// An option a kind of source has, and what it does in a few words.
struct SourceOption {
  std::string name;
  std::string help;
};

/// The name of a source, taken apart once: `kind:target?key=value&key=value`, where target and options may be absent.
///
///   const auto name = parse_source_name("idx:train-images-idx3-ubyte.gz?pad=2");
///   name.integer("pad", 0, {0, 64});   // 2
///
/// The getters give `fallback` where the option is absent, and throw InputError naming source, option, value and what
/// was expected.
class SourceName {
 public:
  struct Bounds {
    int64_t low;
    int64_t high;
  };

  /// All of it, as given.
  const std::string& text() const { return text_; }
  const std::string& kind() const { return kind_; }
  /// What follows the colon: a file or folder.
  const std::string& target() const { return target_; }
  /// Whether there was a colon.
  bool has_target() const { return has_target_; }
  bool has(const std::string& key) const { return find(key) != nullptr; }

  /// A whole number, both bounds included.
  int64_t integer(const std::string& key, int64_t fallback, Bounds bounds) const;
  /// 1, yes or true; 0, no or false.
  bool flag(const std::string& key, bool fallback) const;
  /// One of the choices.
  std::string choice(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& choices) const;
  /// Any text but the empty one.
  std::string word(const std::string& key, const std::string& fallback) const;
  /// Whole numbers with commas between; {} where absent.
  std::vector<int64_t> integers(const std::string& key, Bounds bounds) const;
  /// Words with commas, or what is given, between; {} where absent. %2C in a word is a comma, %26 an ampersand: see
  /// escaped.
  std::vector<std::string> words(const std::string& key, char separator = ',') const;
  /// Pairs `from:to` of whole numbers with commas between; {} where absent.
  std::vector<std::pair<int64_t, int64_t>> pairs(const std::string& key, Bounds bounds) const;

  /// `limit=N`, how many items to take; as many as there are where absent.
  int64_t limit() const;

  /// The name with an option set to another value, or added.
  SourceName with(const std::string& key, const std::string& value) const;

  /// Throws InputError for an option that is not in the list, naming the nearest and all there are.
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

/// Takes a name apart. The options start at the last question mark followed by `key=`, so that file names may have
/// question marks of their own; the kind ends at the first colon. InputError for an option without a value or given
/// twice.
SourceName parse_source_name(const std::string& text);

/// A word as it is written in a list of them: "weight, kg" as "weight%2C kg". Commas, bars, ampersands and question
/// marks, which would end it, and a percent sign that would be taken for such a code become % and two hexadecimal
/// digits.
std::string escaped(const std::string& word);

}  // namespace segre
