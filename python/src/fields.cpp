#include "fields.h"

#include <nanobind/stl/string.h>

#include "segre/core/error.h"
#include "torch_bridge.h"

namespace nb = nanobind;

namespace segre::python {
namespace {

// Imported on first use, since it needs Python's torch. Call it with the interpreter's lock.
const TorchBridge& bridge() {
  static const TorchBridge* const found = [] {
    const nb::object capsule = nb::module_::import_("segre._torch").attr("bridge");
    return static_cast<const TorchBridge*>(PyCapsule_GetPointer(capsule.ptr(), kBridgeName));
  }();
  if (found == nullptr) throw nb::python_error();
  return *found;
}

nb::object wrapped(const torch::Tensor& tensor) { return nb::steal(bridge().wrap(tensor)); }

torch::Tensor unwrapped(const nb::object& object, const std::string& what) {
  auto tensor = bridge().unwrap(object.ptr());
  if (!tensor.defined()) fail_input(what, ": is not a tensor of torch");
  return tensor;
}

// A module of torch. On the CPU several threads call forward; each takes the interpreter's lock, which torch gives back
// inside its operations.
class TorchField final : public Field {
 public:
  explicit TorchField(TorchModule module) : module_(std::move(module)) {
    for (nb::handle pair : nb::iter(object().attr("named_parameters")())) {
      const auto [name, tensor] = named(pair);
      add_parameter(name, tensor);
      n_activations_ += tensor.size(0);
    }
    for (nb::handle pair : nb::iter(object().attr("named_buffers")())) {
      const auto [name, tensor] = named(pair);
      add_buffer(name, tensor);
    }
  }

  torch::Tensor forward(const FieldInput& input) override {
    const nb::gil_scoped_acquire gil;
    if (nb::cast<bool>(object().attr("training")) != is_training()) object().attr("train")(is_training());
    const nb::object out = object()(wrapped(input.W), wrapped(input.t.expand({input.W.size(0)})));
    return unwrapped(out, "what the module returned");
  }
  // An estimate: the rows of every weight, and of its nonlinearity.
  int64_t n_activations() const override { return 2 * n_activations_; }
  std::vector<std::string> layers() const override {
    const nb::gil_scoped_acquire gil;
    return {nb::cast<std::string>(nb::repr(object()))};
  }

 private:
  nb::object& object() const { return *module_.module; }

  static std::pair<std::string, torch::Tensor> named(nb::handle pair) {
    auto name = nb::cast<std::string>(pair[0]);
    auto tensor = unwrapped(nb::borrow(pair[1]), name);
    if (tensor.scalar_type() != torch::kFloat32 || tensor.dim() == 0)
      fail_input("the module's tensor ", name, " has type ", c10::toString(tensor.scalar_type()), " and ", tensor.dim(),
                 " axes; float32 with at least one axis was expected");
    return {std::move(name), std::move(tensor)};
  }

  TorchModule module_;
  int64_t n_activations_ = 0;
};

}  // namespace

TorchModule make_torch_module(nb::object module, std::string name) {
  auto* held = new nb::object(std::move(module));
  const auto release = [](nb::object* object) {
    const nb::gil_scoped_acquire gil;
    delete object;
  };
  return {std::shared_ptr<nb::object>(held, release), std::move(name)};
}

std::shared_ptr<Field> torch_field(const TorchModule& module) {
  const nb::gil_scoped_acquire gil;
  return std::make_shared<TorchField>(module);
}

CustomField custom_field(const TorchModule& module) {
  return {module.name, [module](const Space& /*space*/, uint64_t /*seed*/) {
            const nb::gil_scoped_acquire gil;
            const nb::object copy = nb::module_::import_("copy").attr("deepcopy")(*module.module);
            return torch_field(make_torch_module(copy, module.name));
          }};
}

}  // namespace segre::python
