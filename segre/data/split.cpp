#include "segre/data/split.h"

#include "segre/data/shuffle.h"

namespace segre {

std::pair<Dataset, Dataset> split_off(const Dataset& dataset, int64_t count) {
  const int64_t n = dataset.labels.size(0);
  auto order = torch::empty({n}, torch::kInt64);
  for (int64_t k = 0; k < n; ++k) order.data_ptr<int64_t>()[k] = shuffled({0, Purpose::validation_data}, 0, k, n);
  const auto take = [&](int64_t from, int64_t to) {
    const auto rows = std::get<0>(order.slice(0, from, to).sort());  // the source's own order within each part
    return Dataset{dataset.space, dataset.labels.index_select(0, rows), dataset.mirror};
  };
  return {take(count, n), take(0, count)};
}

}  // namespace segre
