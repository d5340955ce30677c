#include "segre/data/source_summary.h"

#include <algorithm>

#include "segre/data/label_counts.h"
#include "segre/data/label_dictionary.h"
#include "segre/io/mapped_rows.h"

namespace segre {
namespace {

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

double share_of_unknown(const torch::Tensor& labels) {
  int64_t count = 0;
  for_each_part(labels, [&](const torch::Tensor& part, int64_t) { count += (part < 0).sum().item<int64_t>(); });
  return static_cast<double>(count) / static_cast<double>(labels.numel());
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
  auto counts = count_labels(source, out.n_seen);
  if (shares_labels(space)) counts = counts.view({space.n_variables(), space.max_labels()}).sum(0);
  const auto* at = counts.data_ptr<int64_t>();
  const auto n_values = static_cast<double>(std::max<int64_t>(out.n_seen * space.n_variables(), 1));
  if (shares_labels(space)) {
    for (const int64_t count : std::vector<int64_t>(at, at + counts.numel()))
      out.label_shares.push_back(static_cast<double>(count) / n_values);
    return out;
  }
  const auto columns = space.columns_and_variables();
  for (const Column& column : columns) {
    out.fewest_labels = std::min(out.fewest_labels, space.n_labels(column.first));
    auto summary = summarise_column(space, column.first, at + space.offset(column.first), out.n_seen);
    summary.name = column.name;
    out.missing_share += summary.missing_share / static_cast<double>(columns.size());
    if (columns.size() <= SourceSummary::kMaxColumns) out.columns.push_back(summary);
  }
  if (source.has_unknowns() && source.dataset() != nullptr)
    out.missing_share = share_of_unknown(source.dataset()->labels);
  return out;
}

}  // namespace segre
