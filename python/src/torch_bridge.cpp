// The module _torch: tensors of Python's torch as those of the library. Linked against libtorch_python.

#include "torch_bridge.h"

#include <torch/csrc/autograd/python_variable.h>

namespace {

PyObject* wrap(const torch::Tensor& tensor) { return THPVariable_Wrap(tensor); }

torch::Tensor unwrap(PyObject* object) {
  return THPVariable_Check(object) ? THPVariable_Unpack(object) : torch::Tensor();
}

segre::python::TorchBridge g_bridge{wrap, unwrap};

PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "segre._torch", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__torch() {
  PyObject* module = PyModule_Create(&g_module);
  if (module == nullptr) return nullptr;
  PyObject* bridge = PyCapsule_New(&g_bridge, segre::python::kBridgeName, nullptr);
  if (bridge == nullptr || PyModule_AddObject(module, "bridge", bridge) < 0) {
    Py_XDECREF(bridge);
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
