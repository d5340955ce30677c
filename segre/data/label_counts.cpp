#include "segre/data/label_counts.h"

#include "segre/data/split.h"

namespace segre {
namespace {

constexpr int64_t kCountedAtOnce = 1 << 22;  // labels counted at once

}  // namespace

bool shares_labels(const Space& space) { return space.is(PartKind::sequence) || space.is(PartKind::image); }

torch::Tensor count_labels(const Space& space, const torch::Tensor& labels) {
  check_labels(space, labels, Unknowns::allow);
  return torch::bincount((labels + space.starts(torch::kCPU)).masked_select(labels >= 0), {}, space.n_coordinates());
}

void for_some_items(const DataSource& source, int64_t most, int64_t at_once,
                    const std::function<void(const torch::Tensor& labels)>& fn) {
  const int64_t n = source.n_items();
  if (n > most) {
    for (const auto& rows : chosen_rows(n, most).split(at_once)) fn(source.take(rows));
    return;
  }
  const int64_t count = n == 0 ? most : n;
  for (int64_t first = 0; first < count; first += at_once) fn(source.rows(first, std::min(at_once, count - first)));
}

torch::Tensor count_labels(const DataSource& source, int64_t most) {
  const Space& space = source.space();
  auto counts = torch::zeros({space.n_coordinates()}, torch::kInt64);
  for_some_items(source, most, std::max<int64_t>(1, kCountedAtOnce / space.n_variables()),
                 [&](const torch::Tensor& labels) { counts += count_labels(space, labels); });
  return counts;
}

torch::Tensor sum_of_entries(const Space& space, const torch::Tensor& table, const torch::Tensor& labels) {
  const auto places = labels.clamp_min(0) + space.starts(torch::kCPU);
  const auto entries = table.index_select(0, places.flatten()).view(labels.sizes());
  return torch::where(labels < 0, torch::zeros({1}, entries.options()), entries).sum(1);
}

torch::Tensor label_nats(const Space& space, const torch::Tensor& counts) {
  const auto smoothed = counts.to(torch::kFloat64) + kAddedCount;
  const auto& variable = space.variable_of_coordinate(torch::kCPU);
  const auto totals =
      torch::zeros({space.n_variables()}, torch::kFloat64).index_add_(0, variable, smoothed).index_select(0, variable);
  return -(smoothed / totals).log();
}

torch::Tensor independent_nats(const Space& space, const torch::Tensor& counts, const torch::Tensor& labels) {
  return sum_of_entries(space, label_nats(space, counts), labels);
}

}  // namespace segre
