#include "segre/space/densities.h"

#include <algorithm>
#include <vector>

#include "segre/space/bins.h"

namespace segre {
namespace {

// The log density at every place of a column: [labels, those of the second variable], row-major.
std::vector<double> table_of(const Bins& bins, int64_t n_within) {
  std::vector<double> table;
  for (int64_t label = 0; label < bins.size(); ++label)
    for (int64_t within = 0; within < n_within; ++within) table.push_back(bins.log_density({label, within}));
  return table;
}

}  // namespace

bool has_density(const Space& space, const Column& column) {
  const Bins* bins = space.bins(column.first);
  return bins != nullptr && bins->are_levels && bins->n_intervals() > 0 && !bins->are_points;
}

torch::Tensor log_densities(const Space& space, const torch::Tensor& labels) {
  torch::Tensor densities;
  const auto all = labels.to(torch::kCPU, torch::kInt64).contiguous();
  const int64_t N = all.size(0);
  const int64_t n = all.size(1);
  for (const Column& column : space.columns_and_variables()) {
    if (!has_density(space, column)) continue;
    if (!densities.defined()) densities = torch::zeros({N, n}, torch::kFloat64);
    const Bins& bins = *space.bins(column.first);
    const bool is_wide = column.n_variables == 2;
    const int64_t n_within = is_wide ? space.n_labels(column.first + 1) : 1;
    const auto table = table_of(bins, n_within);
    const auto* label = all.const_data_ptr<int64_t>() + column.first;
    auto* to = densities.data_ptr<double>() + column.first;
    for (int64_t k = 0; k < N; ++k, label += n, to += n) {
      const int64_t within = is_wide ? label[1] : 0;
      if (label[0] >= 0 && label[0] < bins.size() && within >= 0) *to = table[label[0] * n_within + within];
    }
  }
  return densities;
}

}  // namespace segre
