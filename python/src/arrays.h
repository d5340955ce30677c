#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

#include "segre/core/torch.h"

// Tensors to and from Python without a copy. In: NumPy arrays and anything with __dlpack__, such as tensors of torch on
// the CPU or a GPU. Out: NumPy arrays from the CPU, tensors of torch from a GPU.

namespace segre::python {

/// A view of an array. TypeError for a type that LibTorch does not have, such as complex integers or texts.
torch::Tensor tensor_of(const nanobind::ndarray<nanobind::ro>& array);

/// A tensor that may be undefined, which is None in Python.
inline std::optional<torch::Tensor> maybe(const torch::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// An array that keeps the tensor alive.
nanobind::object array_of(const torch::Tensor& tensor);

}  // namespace segre::python

namespace nanobind::detail {

template <>
struct type_caster<torch::Tensor> {
  NB_TYPE_CASTER(torch::Tensor, io_name("numpy.typing.ArrayLike", "numpy.typing.NDArray[typing.Any]"))

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<ndarray<ro>> caster;
    if (source.is_none() || !caster.from_python(source, flags, cleanup)) return false;
    try {
      value = segre::python::tensor_of(caster.operator cast_t<ndarray<ro>>());
      return true;
    } catch (const std::exception&) {
      return false;  // nanobind then reports which types were expected
    }
  }
  static handle from_cpp(const torch::Tensor& tensor, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    try {
      return segre::python::array_of(tensor).release();
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
      return {};
    }
  }
};

}  // namespace nanobind::detail
