#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace segre {

/// Numbers a key accepts, both ends included.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// Whether a key may change once a run has begun. Every key must choose, since a run resumed with a different path, or
/// with different items in its batches, is neither the old run nor a new one.
enum class Later {
  fixed,     ///< must not change: it affects what is learned or from what
  free,      ///< may change
  contents,  ///< names data, which may move as long as the contents stay the same
};

/// The keys a config may have. Each is declared once, bound to the variable it sets; reading, checking, help and the
/// resolved copy all come from that declaration, so they cannot disagree. Knows nothing of the program's stages.
///
///   double lr = 1e-3;
///   schema.number("train.lr", &lr, {0, 1}, Later::free, "peak learning rate");
///   schema.read_file("run.toml");          // [train]  lr = 2e-3
///   schema.set("train.lr=5e-4");           // as --set does
///
/// Strict: an unknown key, a wrong type or a value out of range throws InputError with place, key, value, expectation
/// and, for unknown keys, the nearest known one.
class ConfigSchema {
 public:
  void integer(const std::string& key, int64_t* target, Range range, Later later, const std::string& help);
  void number(const std::string& key, double* target, Range range, Later later, const std::string& help);
  void flag(const std::string& key, bool* target, Later later, const std::string& help);
  void text(const std::string& key, std::string* target, Later later, const std::string& help);
  void integers(const std::string& key, std::vector<int64_t>* target, Range range, Later later,
                const std::string& help);

  /// A named choice.
  template <class E>
  void choice(const std::string& key, E* target, std::vector<std::pair<std::string, E>> choices, Later later,
              const std::string& help) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    choice_by_index(
        key, names, later, help, [target, choices](size_t index) { *target = choices[index].second; },
        [target, choices]() {
          size_t index = 0;
          while (index + 1 < choices.size() && choices[index].second != *target) ++index;
          return index;
        });
  }

  /// Reads a TOML file into the bound variables.
  void read_file(const std::filesystem::path& path);
  /// Reads TOML text; messages use `name` as the file name.
  void read_text(const std::string& toml, const std::string& name);
  /// Applies one `key=value` from the command line and returns the key. A bare word is read as text. Messages name
  /// `option`.
  std::string set(const std::string& assignment, const std::string& option = "set");
  /// All keys with their current values as TOML, tables in order of declaration. `with_help` adds each key's help as a
  /// comment, which states whether the key may change later.
  std::string to_toml(bool with_help) const;

  /// A key whose values differ between two configs, written as TOML.
  struct Difference {
    std::string key;
    Later later;
    std::string value;  ///< here
    std::string other;  ///< there
  };
  /// The keys that differ from those of another schema with the same declarations, in declaration order.
  std::vector<Difference> differences(const ConfigSchema& other) const;

 private:
  struct Value;  // a TOML value and its location
  struct Key {
    std::string name;
    Later later;
    std::string help;
    std::string expected;
    std::function<bool(const Value&)> assign;  // false: wrong type or value
    std::function<std::string()> print;
  };

  void choice_by_index(const std::string& key, const std::vector<std::string>& names, Later later,
                       const std::string& help, const std::function<void(size_t)>& assign,
                       const std::function<size_t()>& current);
  void assign(const std::string& key, const Value& value, const std::string& place);
  void read_table(const void* table, const std::string& prefix, const std::string& name);
  std::string nearest(const std::string& key) const;

  std::vector<Key> keys_;
};

}  // namespace segre
