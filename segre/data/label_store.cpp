#include "segre/data/label_store.h"

#include <algorithm>
#include <memory>

namespace segre {
namespace {

template <class T>
torch::Tensor adopt(std::vector<T>& values, int64_t n, torch::ScalarType type) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  values.clear();
  const auto rows = static_cast<int64_t>(owner->size()) / n;
  return torch::from_blob(
      owner->data(), {rows, n}, [owner](void*) {}, torch::TensorOptions(type));
}

template <class T>
void relabel_all(std::vector<T>& values, const std::vector<std::vector<int32_t>>& place) {
  const size_t n = place.size();
  for (size_t begin = 0; begin + n <= values.size(); begin += n)
    for (size_t i = 0; i < n; ++i)
      if (T& value = values[begin + i]; static_cast<int64_t>(value) != kUnknown)
        value = static_cast<T>(place[i][value]);
}

}  // namespace

void LabelStore::widen() {
  if (is_wide_) return;
  words_.assign(bytes_.begin(), bytes_.end());
  bytes_ = {};
  is_wide_ = true;
}

void LabelStore::add_wide(int32_t label) {
  widen();
  words_.push_back(label);
}

void LabelStore::set(int64_t index, int32_t label) {
  if (label < 0 || label > 0xff) widen();
  if (is_wide_) {
    words_[index] = label;
  } else {
    bytes_[index] = static_cast<uint8_t>(label);
  }
}

void LabelStore::relabel(const std::vector<std::vector<int32_t>>& place) {
  is_wide_ ? relabel_all(words_, place) : relabel_all(bytes_, place);
}

void LabelStore::relabel(const std::vector<int32_t>& place) {
  const auto [least, largest] = std::minmax_element(place.begin(), place.end());
  if (*least < 0 || *largest > 0xff) widen();
  for (uint8_t& label : bytes_) label = static_cast<uint8_t>(place[label]);
  for (int32_t& label : words_) label = place[label];
}

torch::Tensor LabelStore::take(const Space& space, Unknowns unknowns) {
  const auto labels =
      is_wide_ ? adopt(words_, space.n_variables(), torch::kInt32) : adopt(bytes_, space.n_variables(), torch::kUInt8);
  is_wide_ = false;
  return labels.to(label_type(space, unknowns));
}

}  // namespace segre
