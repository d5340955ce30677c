#pragma once

#include <nanobind/nanobind.h>

#include "segre/recipes/custom_field.h"

namespace segre::python {

/// A module of Python's torch that serves as a network: module(W, t) -> [B, S], W [B, S], t [B]. Copies share the
/// object; they may be made and destroyed without the interpreter's lock.
struct TorchModule {
  std::shared_ptr<nanobind::object> module;
  std::string name;  ///< in checkpoints
};

/// The module with the interpreter's lock taken whenever it goes.
TorchModule make_torch_module(nanobind::object module, std::string name);

/// The network that is the module itself: its parameters are those of the module, not copies.
std::shared_ptr<Field> torch_field(const TorchModule& module);

/// Networks that are copies of the module, with its present weights.
CustomField custom_field(const TorchModule& module);

}  // namespace segre::python
