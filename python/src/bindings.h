#pragma once

#include <nanobind/nanobind.h>

// Each file of this folder binds one part of the library; module.cpp puts them together.

namespace segre::python {

void bind_data(nanobind::module_& m);
void bind_condition(nanobind::module_& m);
void bind_run(nanobind::module_& m);
void bind_oracle(nanobind::module_& m);
void bind_nn(nanobind::module_& m);
void bind_train(nanobind::module_& m);

}  // namespace segre::python
