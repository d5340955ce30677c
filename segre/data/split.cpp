#include "segre/data/split.h"

#include "segre/data/shuffle.h"
#include "segre/io/mapped_rows.h"

namespace segre {
namespace {

// Positions first ... end - 1 of a fixed shuffle of n rows, ascending: each part keeps the source's order.
torch::Tensor shuffled_rows(int64_t n, int64_t first, int64_t end) {
  auto rows = torch::empty({end - first}, torch::kInt64);
  auto* row = rows.data_ptr<int64_t>();
  for (int64_t k = first; k < end; ++k) row[k - first] = shuffled({0, Purpose::validation_data}, 0, k, n);
  return std::get<0>(rows.sort());
}

}  // namespace

torch::Tensor chosen_rows(int64_t n, int64_t count) { return shuffled_rows(n, 0, count); }

torch::Tensor chosen_items(const DataSource& source, int64_t most) {
  const int64_t n = source.n_items();
  if (n == 0 || n <= most) return source.rows(0, n == 0 ? most : n);
  return source.take(chosen_rows(n, most));
}

std::pair<Dataset, Dataset> split_off(const Dataset& dataset, int64_t count) {
  const int64_t n = dataset.labels.size(0);
  const auto take = [&](const torch::Tensor& rows) {
    return Dataset{dataset.space, take_rows(dataset.labels, rows), dataset.mirror, dataset.origin.select(rows),
                   dataset.unknowns};
  };
  return {take(shuffled_rows(n, count, n)), take(chosen_rows(n, count))};
}

}  // namespace segre
