#include "segre/data/label_counts.h"

#include "segre/data/split.h"
#include "segre/space/bins.h"

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

namespace {

// A space with one variable for each column: an interval or value of a column with two variables is one label.
Space space_of_columns(const Space& space) {
  std::vector<Variable> variables;
  for (const Column& column : space.columns_and_variables()) {
    const int64_t n_labels = space.n_labels(column.first);
    const Bins* bins = space.bins(column.first);
    const bool is_wide = column.n_variables == 2;
    // Beside those of numbers there may be the label of missing values.
    const int64_t n_places = is_wide ? bins->number_of({bins->size(), 0}) + n_labels - bins->size() : n_labels;
    variables.push_back({column.name, n_places, {}});
  }
  return Space::table(std::move(variables));
}

// Labels [N, n] of a space as labels of its columns: [N, columns] int64.
torch::Tensor labels_of_columns(const Space& space, const torch::Tensor& labels) {
  std::vector<torch::Tensor> out;
  for (const Column& column : space.columns_and_variables()) {
    const auto first = labels.select(1, column.first);
    out.push_back(first);
    if (column.n_variables == 1) continue;
    const Bins& bins = *space.bins(column.first);
    const auto second = labels.select(1, column.first + 1);
    const auto within = (first * bins.fine + second).clamp_max(bins.n_intervals() - 1);
    const auto number = torch::where(first < bins.n_shared(), within, first - bins.n_shared() + bins.n_intervals());
    out.back() = torch::where((first < 0).logical_or(second < 0), torch::full_like(first, kUnknown), number);
  }
  return torch::stack(out, 1);
}

}  // namespace

torch::Tensor independent_column_nats(const DataSource& source, int64_t most, const torch::Tensor& labels) {
  const Space& space = source.space();
  const auto columns = space.columns_and_variables();
  if (static_cast<int64_t>(columns.size()) == space.n_variables())
    return independent_nats(space, count_labels(source, most), labels);
  const Space merged = space_of_columns(space);
  auto counts = torch::zeros({merged.n_coordinates()}, torch::kInt64);
  for_some_items(source, most, std::max<int64_t>(1, kCountedAtOnce / space.n_variables()),
                 [&](const torch::Tensor& some) { counts += count_labels(merged, labels_of_columns(space, some)); });
  return independent_nats(merged, counts, labels_of_columns(space, labels));
}

}  // namespace segre
