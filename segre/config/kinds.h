#pragma once  // internal

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

}  // namespace segre
