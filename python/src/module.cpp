#include <nanobind/stl/string.h>

#include "bindings.h"
#include "segre/core/log.h"
#include "segre/core/parallel.h"
#include "segre/core/tuning.h"
#include "segre/core/version.h"
#include "work.h"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_core, m) {
  m.doc() = "The C++ library behind the package segre; use the package.";
  nanobind::set_leak_warnings(false);  // torch keeps what the main program defines until the very end
  segre::keep_freed_memory();
  segre::avoid_hidden_tiles();
  segre::python::send_log_to_python(/*redraws=*/false);
  segre::python::register_errors();
  m.def("release", &segre::release);
  m.def("revision", &segre::revision);
  m.def("send_log_to_python", &segre::python::send_log_to_python, "redraws"_a);
  m.def("note", &segre::log_note, "text"_a);
  segre::python::bind_data(m);
  segre::python::bind_condition(m);
  segre::python::bind_run(m);
  segre::python::bind_oracle(m);
  segre::python::bind_nn(m);
  segre::python::bind_train(m);
}
