#pragma once

#include <Python.h>

#include "segre/core/torch.h"

namespace segre::python {

/// How to turn tensors into those of Python's torch and back, both sharing one tensor with its history of derivatives.
/// It lives in a module of its own, _torch, which needs Python's torch; everything else does without.
struct TorchBridge {
  PyObject* (*wrap)(const torch::Tensor& tensor);  ///< a new reference
  /// The tensor; undefined if the object is not one.
  torch::Tensor (*unwrap)(PyObject* object);
};

/// The name of the capsule segre._torch.bridge.
inline constexpr const char* kBridgeName = "segre._torch.bridge";

}  // namespace segre::python
