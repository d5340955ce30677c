#include "segre/data/summary.h"

#include <algorithm>

#include "segre/data/readers.h"

namespace segre {
namespace {

constexpr int64_t kValuesAtOnce = 1 << 22;  // labels looked at together

// Whether label k means the same for every variable.
bool shares_labels(const Space& space) { return space.is_uniform() && space.layout() != Layout::table; }

// How often each variable had each label, over the coordinates of the space; over its labels where they are shared.
torch::Tensor count_labels(const DataSource& source, int64_t n_seen) {
  const Space& space = source.space();
  const bool shared = shares_labels(space);
  const int64_t n_counts = shared ? space.max_labels() : space.n_coordinates();
  auto counts = torch::zeros({n_counts}, torch::kInt64);
  const int64_t batch = std::max<int64_t>(1, kValuesAtOnce / space.n_variables());
  for (int64_t first = 0; first < n_seen; first += batch) {
    const auto labels = source.rows(first, std::min(batch, n_seen - first));
    const auto places = shared ? labels : labels + space.offsets().slice(0, 0, space.n_variables());
    counts += torch::bincount(places.flatten(), {}, n_counts);
  }
  return counts;
}

ColumnSummary summarise_column(const Space& space, int64_t column, const int64_t* counts, int64_t n_seen) {
  const int64_t n_labels = space.n_labels(column);
  const auto* top = std::max_element(counts, counts + n_labels);
  ColumnSummary summary{space.variable_name(column), n_labels, space.label_name(column, top - counts), 0.0, 0.0};
  const auto seen = static_cast<double>(std::max<int64_t>(n_seen, 1));
  summary.common_share = static_cast<double>(*top) / seen;
  if (space.label_name(column, n_labels - 1) == kMissingName)
    summary.missing_share = static_cast<double>(counts[n_labels - 1]) / seen;
  return summary;
}

}  // namespace

SourceSummary summarise(const DataSource& source, int64_t most) {
  const Space& space = source.space();
  SourceSummary out;
  out.n_items = source.n_items();
  out.n_seen = out.n_items == 0 ? most : std::min(most, out.n_items);
  out.most_labels = space.max_labels();
  out.fewest_labels = out.most_labels;
  if (const Dataset* dataset = source.dataset())
    out.memory_bytes = dataset->labels.numel() * static_cast<int64_t>(dataset->labels.element_size());
  const auto counts = count_labels(source, out.n_seen);
  const auto* at = counts.data_ptr<int64_t>();
  const auto n_values = static_cast<double>(std::max<int64_t>(out.n_seen * space.n_variables(), 1));
  if (shares_labels(space)) {
    for (const int64_t count : std::vector<int64_t>(at, at + counts.numel()))
      out.label_shares.push_back(static_cast<double>(count) / n_values);
    return out;
  }
  for (int64_t column = 0; column < space.n_variables(); ++column) {
    out.fewest_labels = std::min(out.fewest_labels, space.n_labels(column));
    const auto summary = summarise_column(space, column, at, out.n_seen);
    out.missing_share += summary.missing_share / static_cast<double>(space.n_variables());
    if (space.n_variables() <= SourceSummary::kMaxColumns) out.columns.push_back(summary);
    at += space.n_labels(column);
  }
  return out;
}

}  // namespace segre
