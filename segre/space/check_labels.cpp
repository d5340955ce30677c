#include "segre/space/check_labels.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "segre/core/error.h"

namespace segre {
namespace {

void check_shape(const Space& space, const torch::Tensor& labels, bool type_serves, const char* type) {
  const int64_t n = space.n_variables();
  if (!labels.defined()) fail_input("labels must be ", type, " of shape [items, ", n, "], found no tensor");
  if (labels.dim() != 2 || labels.size(1) != n || !type_serves)
    fail_input("labels must be ", type, " of shape [items, ", n, "], found ", labels.dtype().name(), " of shape ",
               labels.sizes());
}

// Reports the first label of an item that is out of range; there must be one.
template <class T>
[[noreturn]] void refuse(const Space& space, int64_t item, const T* row, int64_t least) {
  int64_t i = 0;
  while (static_cast<int64_t>(row[i]) >= least && static_cast<int64_t>(row[i]) < space.n_labels(i)) ++i;
  if (static_cast<int64_t>(row[i]) == kUnknown)
    fail_input("item ", item, ", variable ", space.variable_name(i),
               ": its label is not known, but complete items are ", "needed here");
  fail_input("item ", item, ", variable ", space.variable_name(i), ": label ", static_cast<int64_t>(row[i]),
             " where 0 to ", space.n_labels(i) - 1, " was expected");
}

// One item at a time without inner branches, so that compilers vectorise the loop.
template <class T>
void check_values(const Space& space, const torch::Tensor& labels, Unknowns unknowns) {
  using Number = std::make_unsigned_t<T>;  // negative labels become very large
  const int64_t least = std::is_signed_v<T> && unknowns == Unknowns::allow ? kUnknown : 0;
  const int64_t n = space.n_variables();
  std::vector<Number> largest(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    largest[i] = static_cast<Number>(std::min<int64_t>(space.n_labels(i) - 1, std::numeric_limits<T>::max()) - least);
  const auto below = static_cast<Number>(least);
  const T* row = labels.const_data_ptr<T>();
  for (int64_t item = 0; item < labels.size(0); ++item, row += n) {
    Number outside = 0;
    for (int64_t i = 0; i < n; ++i)
      outside |= static_cast<Number>(static_cast<Number>(static_cast<Number>(row[i]) - below) > largest[i]);
    if (outside != 0) refuse(space, item, row, least);
  }
}

void check_range(const Space& space, const torch::Tensor& labels, Unknowns unknowns) {
  const auto here = labels.to(torch::kCPU).contiguous();
  switch (here.scalar_type()) {
    case torch::kBool:
      return check_values<uint8_t>(space, here.view(torch::kUInt8), unknowns);
    case torch::kUInt8:
      return check_values<uint8_t>(space, here, unknowns);
    case torch::kInt8:
      return check_values<int8_t>(space, here, unknowns);
    case torch::kInt16:
      return check_values<int16_t>(space, here, unknowns);
    case torch::kInt32:
      return check_values<int32_t>(space, here, unknowns);
    default:
      return check_values<int64_t>(space, here.to(torch::kInt64), unknowns);
  }
}

}  // namespace

void check_labels(const Space& space, const torch::Tensor& labels, Unknowns unknowns) {
  check_shape(space, labels, labels.defined() && labels.scalar_type() == torch::kInt64, "int64");
  check_range(space, labels, unknowns);
}

void check_integer_labels(const Space& space, const torch::Tensor& labels, Unknowns unknowns) {
  check_shape(space, labels, labels.defined() && c10::isIntegralType(labels.scalar_type(), /*includeBool=*/true),
              "integers");
  check_range(space, labels, unknowns);
}

}  // namespace segre
