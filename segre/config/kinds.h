#pragma once  // internal

#include <map>
#include <memory>
#include <typeindex>

#include "segre/config/schema.h"
#include "segre/core/error.h"

// Tables of kinds: networks, paths, samplers. A Kind has a `name` and a `help` of a few words, which may be empty.

namespace segre {

/// The kind of this name; InputError lists the names. `what` is what the name was given as: "net.kind".
template <class Kind>
const Kind& find_kind(const std::vector<Kind>& kinds, const std::string& name, const std::string& what) {
  std::string names;
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind;
    names += (names.empty() ? "" : ", ") + kind.name;
  }
  fail_input(what, " '", name, "' is not one of ", names);
}

/// The kinds in words: "linear (one matrix), mlp (dense layers)".
template <class Kind>
std::string list_kinds(const std::vector<Kind>& kinds) {
  std::string text;
  for (const Kind& kind : kinds)
    text += concat(text.empty() ? "" : ", ", kind.name, kind.help.empty() ? "" : concat(" (", kind.help, ")"));
  return text;
}

/// Declares the key that chooses among the kinds.
template <class Kind>
void declare_kind_key(ConfigSchema& schema, const std::string& key, std::string* target, const std::vector<Kind>& kinds,
                      Later later, const std::string& help) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name, kind.name);
  schema.choice<std::string>(key, target, names, later, help + ": " + list_kinds(kinds));
}

/// Options that the kinds of a stage, such as networks or paths, bring along: one struct of each type, with its default
/// values until somebody changes them. A new kind brings its own struct, and no other file changes.
///
///   options.of<MlpOptions>().hidden = {512, 512};
///
/// References stay valid as long as the set lives, also when it is assigned to: config keys are bound to them.
class OptionSet {
 public:
  OptionSet() = default;
  ~OptionSet() = default;
  OptionSet(const OptionSet& other) { *this = other; }
  OptionSet& operator=(const OptionSet& other) {
    if (this == &other) return *this;
    for (auto& [type, slot] : slots_) {
      const auto at = other.slots_.find(type);
      slot->assign(at == other.slots_.end() ? nullptr : at->second.get());
    }
    for (const auto& [type, slot] : other.slots_)
      if (slots_.find(type) == slots_.end()) slots_.emplace(type, slot->clone());
    return *this;
  }

  /// The options of one kind.
  template <class T>
  T& of() {
    auto& slot = slots_[typeid(T)];
    if (!slot) slot = std::make_unique<Holder<T>>();
    return static_cast<Holder<T>&>(*slot).value;
  }

  template <class T>
  const T& of() const {
    static const T defaults{};
    const auto at = slots_.find(typeid(T));
    return at == slots_.end() ? defaults : static_cast<const Holder<T>&>(*at->second).value;
  }

 private:
  // A struct of some type.
  struct Slot {
    virtual ~Slot() = default;
    virtual std::unique_ptr<Slot> clone() const = 0;
    // Takes the value of a slot of the same type; nullptr: the defaults.
    virtual void assign(const Slot* other) = 0;
  };
  template <class T>
  struct Holder final : Slot {
    T value{};
    std::unique_ptr<Slot> clone() const override { return std::make_unique<Holder>(*this); }
    void assign(const Slot* other) override {
      value = other == nullptr ? T{} : static_cast<const Holder&>(*other).value;
    }
  };

  std::map<std::type_index, std::unique_ptr<Slot>> slots_;
};

}  // namespace segre
