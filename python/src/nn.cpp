// Paths, networks and models, with the names of C++.

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "fields.h"
#include "segre/core/device.h"
#include "segre/core/error.h"
#include "segre/flow/flow.h"
#include "segre/recipes/experiment.h"
#include "work.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace segre::python {
namespace {

using Set = std::vector<std::string>;

Experiment experiment_with(const Set& set) {
  Experiment experiment;
  auto schema = schema_of(experiment);
  for (const auto& assignment : set) schema.set(assignment, "option");
  return experiment;
}

std::tuple<double, double, double, double> at(const Path& path, double t) {
  const auto c = path.at(t);
  return {c.a, c.s, c.da, c.ds};
}

Form parse_form(const std::string& text) {
  if (text == "velocity") return Form::velocity;
  if (text == "endpoint") return Form::endpoint;
  if (text == "evidence") return Form::evidence;
  fail_input("form ", text, ": expected velocity, endpoint or evidence");
}

Model make_model(const Space& space, const std::shared_ptr<Path>& path, const std::string& form,
                 const std::shared_ptr<Field>& field, const std::string& device) {
  field->to(parse_device(device));
  return {space, path, parse_form(form), field};
}

// A state on the device of the model's weights: v [B, S], t a number for all rows or [B].
State state_of(const Model& model, const torch::Tensor& v, const torch::Tensor& t) {
  const auto options = model.field().parameters().front().second.options().requires_grad(false);
  const auto at_once = t.to(options.dtype(torch::kFloat32));
  return {v.to(options.dtype(torch::kFloat32)), at_once.dim() == 0 ? at_once.view({1}) : at_once};
}

torch::Tensor velocity(const Model& model, const torch::Tensor& v, const torch::Tensor& t) {
  const torch::NoGradGuard no_grad;
  return model.velocity(state_of(model, v, t));
}

torch::Tensor endpoint(const Model& model, const torch::Tensor& v, const torch::Tensor& t) {
  const torch::NoGradGuard no_grad;
  return model.endpoint(state_of(model, v, t));
}

torch::Tensor forward(Field& field, const torch::Tensor& W, const torch::Tensor& t) {
  const torch::NoGradGuard no_grad;
  const auto at_once = t.to(torch::kFloat32);
  return field.forward({.W = W.to(torch::kFloat32), .t = at_once.dim() == 0 ? at_once.view({1}) : at_once});
}

// Views of the weights: a change of one is a change of the network.
nb::typed<nb::dict, nb::str, nb::object> parameters(const Field& field) {
  nb::typed<nb::dict, nb::str, nb::object> out;
  for (const auto& [name, parameter] : field.parameters()) out[name.c_str()] = array_of(parameter);
  return out;
}

}  // namespace

void bind_nn(nb::module_& m) {
  nb::class_<Path>(m, "Path")
      .def_prop_ro("name", &Path::name)
      .def_prop_ro("t_end", &Path::t_end)
      .def("at", &at, "t"_a)
      .def("time_at", &Path::time_at, "ratio"_a)
      .def("corner_scale", &Path::corner_scale, "n_labels"_a)
      .def(
          "decision_time", [](const Path& path, const Space& space) { return decision_time(space, path); }, "space"_a);
  m.def(
      "make_path", [](const Set& set) { return std::const_pointer_cast<Path>(make_path(experiment_with(set).path)); },
      "set"_a);

  nb::class_<TorchModule>(m, "TorchModule").def_ro("name", &TorchModule::name);
  m.def("torch_module", &make_torch_module, "module"_a, "name"_a);

  nb::class_<Field>(m, "Field")
      .def_prop_ro("n_parameters", [](const Field& field) { return n_parameters(field); })
      .def_prop_ro("parameters", &parameters)
      .def_prop_ro("layers", &Field::layers)
      .def("forward", &forward, "W"_a, "t"_a, nb::call_guard<Work>());
  m.def(
      "make_field",
      [](const Space& space, const Set& set, uint64_t seed) {
        return make_field(space, experiment_with(set).net, seed);
      },
      "space"_a, "set"_a, "seed"_a, nb::call_guard<Work>());
  m.def("torch_field", &torch_field, "module"_a);

  nb::class_<Model>(m, "NetModel")
      .def_prop_ro("space", [](const Model& model) { return model.space(); })
      .def("velocity", &velocity, "v"_a, "t"_a, nb::call_guard<Work>())
      .def("endpoint", &endpoint, "v"_a, "t"_a, nb::call_guard<Work>());
  m.def("make_model", &make_model, "space"_a, "path"_a, "form"_a, "field"_a, "device"_a, nb::call_guard<Work>());

  nb::class_<Flow>(m, "Flow").def_prop_ro("space", [](const Flow& flow) { return flow.space; });
  m.def(
      "flow_of", [](const Model& model) { return flow_of(model); }, "model"_a);
  m.def(
      "flow_of", [](const JointOracle& oracle) { return flow_of(oracle); }, "oracle"_a);
}

}  // namespace segre::python
