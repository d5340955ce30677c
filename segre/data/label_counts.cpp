#include "segre/data/label_counts.h"

namespace segre {
namespace {

constexpr int64_t kValuesAtOnce = 1 << 22;  // labels counted at once

}  // namespace

bool shares_labels(const Space& space) { return space.is_uniform() && space.layout() != Layout::table; }

torch::Tensor count_labels(const Space& space, const torch::Tensor& labels) {
  check_labels(space, labels, Unknowns::allow);
  return torch::bincount((labels + space.starts(torch::kCPU)).masked_select(labels >= 0), {}, space.n_coordinates());
}

torch::Tensor count_labels(const DataSource& source, int64_t n_items) {
  const Space& space = source.space();
  auto counts = torch::zeros({space.n_coordinates()}, torch::kInt64);
  const int64_t batch = std::max<int64_t>(1, kValuesAtOnce / space.n_variables());
  for (int64_t first = 0; first < n_items; first += batch)
    counts += count_labels(space, source.rows(first, std::min(batch, n_items - first)));
  return counts;
}

}  // namespace segre
