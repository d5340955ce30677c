#pragma once  // internal

// The part of LibTorch that segre uses: tensors, their operations and factories, under the names of torch/types.h. It
// is precompiled (CMakeLists.txt), but the templates that its inline functions use are instantiated once more in every
// file: torch/types.h, which adds what registers operators, costs every file half a second more, torch/torch.h three.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include <map>
#include <string>

/// Types by their widths, as torch/types.h names them. If a program includes that too, its names come before these.
namespace segre::types {
constexpr auto kUInt8 = at::kByte;
constexpr auto kInt8 = at::kChar;
constexpr auto kInt16 = at::kShort;
constexpr auto kInt32 = at::kInt;
constexpr auto kInt64 = at::kLong;
constexpr auto kFloat16 = at::kHalf;
constexpr auto kFloat32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble;
}  // namespace segre::types

namespace torch {
using namespace at;            // NOLINT(google-build-using-namespace)
using namespace segre::types;  // NOLINT(google-build-using-namespace)
}  // namespace torch

namespace segre {

/// Tensors by name, in name order.
using NamedTensors = std::map<std::string, torch::Tensor>;

}  // namespace segre
