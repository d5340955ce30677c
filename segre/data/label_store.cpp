#include "segre/data/label_store.h"

#include <algorithm>

#include "segre/io/growing_buffer.h"

namespace segre {
namespace {

template <class T>
void relabel_all(GrowingArray<T>& values, const std::vector<std::vector<int32_t>>& place) {
  const auto n = static_cast<int64_t>(place.size());
  values.for_each_part(n, [&](T* part, int64_t count) {
    for (T* row = part; row + n <= part + count; row += n)
      for (int64_t i = 0; i < n; ++i)
        if (static_cast<int64_t>(row[i]) != kUnknown) row[i] = static_cast<T>(place[i][row[i]]);
  });
}

template <class T>
void relabel_all(GrowingArray<T>& values, const std::vector<int32_t>& place) {
  values.for_each_part(1, [&](T* part, int64_t count) {
    for (int64_t k = 0; k < count; ++k) part[k] = static_cast<T>(place[part[k]]);
  });
}

}  // namespace

void LabelStore::widen() {
  if (is_wide_) return;
  words_.reserve(bytes_.size());
  bytes_.for_each_part(1, [&](const uint8_t* part, int64_t count) {
    for (int64_t k = 0; k < count; ++k) words_.push_back(part[k]);
    words_.release();
  });
  bytes_.clear();
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
  is_wide_ ? relabel_all(words_, place) : relabel_all(bytes_, place);
}

torch::Tensor LabelStore::take(const Space& space, Unknowns unknowns) {
  const int64_t n = space.n_variables();
  const auto labels = is_wide_ ? words_.take(n, torch::kInt32) : bytes_.take(n, torch::kUInt8);
  is_wide_ = false;
  return converted(labels, label_type(space, unknowns));
}

}  // namespace segre
