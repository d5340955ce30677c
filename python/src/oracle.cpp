// The exact flow of a known distribution.

#include "segre/model/joint_oracle.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "arrays.h"
#include "bindings.h"
#include "labels.h"
#include "segre/core/error.h"
#include "segre/data/source.h"
#include "work.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace segre::python {
namespace {

using SharedPath = std::shared_ptr<Path>;

torch::Tensor doubles(const torch::Tensor& v) { return v.to(torch::kCPU, torch::kFloat64); }

JointOracle from_table(const Space& space, const torch::Tensor& labelings, const torch::Tensor& weights,
                       const SharedPath& path) {
  return {make_joint_table(space, checked_labels(space, labelings), doubles(weights)), path};
}

JointOracle from_source(const DataSource& source, const SharedPath& path) {
  if (source.joint() == nullptr)
    fail_input("the exact distribution of this source is not known; joint:FILE and the toys have one");
  return {*source.joint(), path};
}

// The distribution given labels [1, n], -1 for those not given.
JointOracle conditional_on(const JointOracle& oracle, const torch::Tensor& labels) {
  return {conditional(oracle.table(), {.labels = checked_labels(oracle.space(), labels, Unknowns::allow)}),
          oracle.shared_path()};
}

torch::Tensor sample(const JointOracle& oracle, int64_t count, uint64_t seed) {
  return JointSampler(oracle.table()).draw(RandomStream(seed, Purpose::source_rows), 0, count);
}

}  // namespace

void bind_oracle(nb::module_& m) {
  nb::class_<JointOracle>(m, "JointOracle")
      .def_prop_ro("space", [](const JointOracle& o) { return o.space(); })
      .def_prop_ro("labelings", [](const JointOracle& o) { return o.table().labelings; })
      .def_prop_ro("p", [](const JointOracle& o) { return o.table().p; })
      .def(
          "log_p",
          [](const JointOracle& o, const torch::Tensor& labels) { return o.log_p(checked_labels(o.space(), labels)); },
          "labels"_a, nb::call_guard<Work>())
      .def("conditional", &conditional_on, "labels"_a, nb::call_guard<Work>())
      .def("sample", &sample, "count"_a, "seed"_a, nb::call_guard<Work>())
      .def(
          "log_density",
          [](const JointOracle& o, const torch::Tensor& v, double t) { return o.log_density(doubles(v), t); }, "v"_a,
          "t"_a, nb::call_guard<Work>())
      .def(
          "posterior_marginals",
          [](const JointOracle& o, const torch::Tensor& v, double t) { return o.posterior_marginals(doubles(v), t); },
          "v"_a, "t"_a, nb::call_guard<Work>())
      .def(
          "endpoint", [](const JointOracle& o, const torch::Tensor& v, double t) { return o.endpoint(doubles(v), t); },
          "v"_a, "t"_a, nb::call_guard<Work>())
      .def(
          "velocity", [](const JointOracle& o, const torch::Tensor& v, double t) { return o.velocity(doubles(v), t); },
          "v"_a, "t"_a, nb::call_guard<Work>())
      .def(
          "divergence",
          [](const JointOracle& o, const torch::Tensor& v, double t) { return o.divergence(doubles(v), t); }, "v"_a,
          "t"_a, nb::call_guard<Work>());
  m.def("oracle_of_table", &from_table, "space"_a, "labelings"_a, "weights"_a, "path"_a, nb::call_guard<Work>());
  m.def("oracle_of_source", &from_source, "source"_a, "path"_a, nb::call_guard<Work>());
}

}  // namespace segre::python
