#pragma once

#include <any>
#include <map>
#include <typeindex>

namespace segre {

/// Options that the kinds of a stage (networks, paths, ...) bring along: one struct per type, default-initialised on
/// first use. A new kind adds its own struct without touching any other file.
///
///   options.of<MlpOptions>().hidden = {512, 512};
class OptionSet {
 public:
  /// The options of one kind. A reference stays valid until the set is assigned to.
  template <class T>
  T& of() {
    std::any& value = values_[typeid(T)];
    if (!value.has_value()) value = T();
    return std::any_cast<T&>(value);
  }

  template <class T>
  const T& of() const {
    static const T defaults{};
    const auto at = values_.find(typeid(T));
    return at == values_.end() ? defaults : std::any_cast<const T&>(at->second);
  }

 private:
  std::map<std::type_index, std::any> values_;
};

}  // namespace segre
