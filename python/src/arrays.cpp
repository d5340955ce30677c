#include "arrays.h"

#include "segre/core/error.h"

namespace nb = nanobind;

namespace segre::python {
namespace {

using Code = nb::dlpack::dtype_code;

struct TypePair {
  Code code;
  int bits;
  torch::ScalarType type;
};

constexpr TypePair kTypes[] = {
    {Code::Bool, 8, torch::kBool},        {Code::UInt, 8, torch::kUInt8},     {Code::UInt, 16, torch::kUInt16},
    {Code::UInt, 32, torch::kUInt32},     {Code::UInt, 64, torch::kUInt64},   {Code::Int, 8, torch::kInt8},
    {Code::Int, 16, torch::kInt16},       {Code::Int, 32, torch::kInt32},     {Code::Int, 64, torch::kInt64},
    {Code::Float, 16, torch::kFloat16},   {Code::Float, 32, torch::kFloat32}, {Code::Float, 64, torch::kFloat64},
    {Code::Bfloat, 16, torch::kBFloat16},
};

torch::ScalarType type_of(nb::dlpack::dtype type) {
  for (const TypePair& pair : kTypes)
    if (static_cast<uint8_t>(pair.code) == type.code && pair.bits == type.bits && type.lanes == 1) return pair.type;
  throw nb::type_error("an array of integers, truth values or floating-point numbers was expected");
}

nb::dlpack::dtype type_of(torch::ScalarType type) {
  for (const TypePair& pair : kTypes)
    if (pair.type == type) return {static_cast<uint8_t>(pair.code), static_cast<uint8_t>(pair.bits), 1};
  fail("a tensor of type ", c10::toString(type), " has no counterpart in NumPy");
}

// Few operations of LibTorch know unsigned integers beyond bytes; labels fit into the next signed type.
torch::Tensor with_common_type(const torch::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case torch::kUInt16:
      return tensor.to(torch::kInt32);
    case torch::kUInt32:
    case torch::kUInt64:
      return tensor.to(torch::kInt64);
    default:
      return tensor;
  }
}

torch::Device device_of(const nb::ndarray<nb::ro>& array) {
  if (array.device_type() == nb::device::cpu::value) return torch::kCPU;
  if (array.device_type() == nb::device::cuda::value)
    return {torch::kCUDA, static_cast<c10::DeviceIndex>(array.device_id())};
  throw nb::type_error("an array on the CPU or on a CUDA device was expected");
}

}  // namespace

torch::Tensor tensor_of(const nb::ndarray<nb::ro>& array) {
  const std::vector<int64_t> shape(array.shape_ptr(), array.shape_ptr() + array.ndim());
  std::vector<int64_t> strides(array.stride_ptr(), array.stride_ptr() + array.ndim());
  for (const int64_t stride : strides)
    if (stride < 0) throw nb::type_error("an array with rising indices was expected, not a reversed view");
  const auto device = device_of(array);
  const auto options = torch::TensorOptions().dtype(type_of(array.dtype())).device(device);
  if (array.size() == 0) return torch::empty(shape, options);
  auto* data = static_cast<char*>(array.data_handle()) + array.byte_offset();
  // The tensor is never written to; it holds the array until it is gone itself.
  return with_common_type(torch::from_blob(
      data, shape, strides, [array](void*) {}, options));
}

nb::object array_of(const torch::Tensor& tensor) {
  auto held = std::make_unique<torch::Tensor>(tensor.detach());
  const nb::capsule owner(held.get(), [](void* p) noexcept { delete static_cast<torch::Tensor*>(p); });
  const torch::Tensor& t = *held.release();
  const std::vector<size_t> shape(t.sizes().begin(), t.sizes().end());
  const std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
  const bool on_cpu = t.device().is_cpu();
  void* const data = t.data_ptr();
  if (on_cpu)
    return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, strides.data(),
                                           type_of(t.scalar_type()), nb::device::cpu::value, 0));
  return nb::cast(nb::ndarray<nb::pytorch>(data, shape.size(), shape.data(), owner, strides.data(),
                                           type_of(t.scalar_type()), nb::device::cuda::value, t.device().index()));
}

}  // namespace segre::python
