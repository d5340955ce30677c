#pragma once  // internal

#include "segre/runs/train_plan.h"

namespace segre {

/// What the user wants changed in a recipe: the config, then what overrides it.
class Wishes {
 public:
  /// Reads the config, once, since it may be a pipe. InputError for unknown keys and wrong values. `request` must
  /// outlive this.
  explicit Wishes(const Request& request);

  /// Makes the changes.
  void change(Experiment& experiment) const;
  /// Makes them in a recipe, whose evidence is for models that can be given it; others have what the user asked for.
  void change_recipe(Experiment& recipe) const;
  /// The changed defaults. net.kind is the one that was asked for; empty if none was.
  const Experiment& asked() const { return asked_; }
  /// Whether the config itself names the network.
  bool config_names_network() const { return names_network_; }

 private:
  void read_config(Experiment& experiment) const;
  void override_config(Experiment& experiment) const;

  const Request& request_;
  std::string text_;
  Experiment asked_;
  bool names_network_ = false;
  bool names_data_ = false;
};

}  // namespace segre
