#include "segre/eval/nearest_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "segre/core/parallel.h"
#include "segre/eval/column_groups.h"

namespace segre {
namespace {

constexpr float kMissing = 2.0f;  // as far from any rank as two labels are

// Cells such that the distance of two of them is |difference|, at most 1: labels as they are, ranks of numbers in
// [0, 1]. [K, C] float32.
torch::Tensor coordinates(const std::vector<ValueColumn>& columns, const torch::Tensor& rows,
                          const torch::Tensor& among) {
  auto found = rows.to(torch::kFloat32).clone(at::MemoryFormat::Contiguous);
  auto* const out = found.data_ptr<float>();
  const int64_t C = rows.size(1);
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c].is_number()) continue;
    const auto known = sorted_known(among.select(1, static_cast<int64_t>(c)));
    const auto values = rows.select(1, static_cast<int64_t>(c)).contiguous();
    for (int64_t k = 0; k < values.numel(); ++k) {
      const double value = values.const_data_ptr<double>()[k];
      const auto [first, last] = std::equal_range(known.begin(), known.end(), value);
      const auto twice = static_cast<double>((first - known.begin()) + (last - known.begin()));
      const double rank = known.empty() ? 0.0 : twice / (2.0 * static_cast<double>(known.size()));
      out[k * C + static_cast<int64_t>(c)] = std::isnan(value) ? kMissing : static_cast<float>(rank);
    }
  }
  return found;
}

}  // namespace

NearestRows nearest_rows(const std::vector<ValueColumn>& columns, const torch::Tensor& rows,
                         const torch::Tensor& among) {
  const auto C = static_cast<int64_t>(columns.size());
  const auto x = coordinates(columns, rows, among);
  const auto y = coordinates(columns, among, among);
  NearestRows found{std::vector<double>(rows.size(0)), std::vector<int64_t>(rows.size(0))};
  parallel_for(0, rows.size(0), 16, [&](int64_t from, int64_t to) {
    for (int64_t k = from; k < to; ++k) {
      const float* const cells = x.const_data_ptr<float>() + k * C;
      float best = std::numeric_limits<float>::infinity();
      for (int64_t row = 0; row < among.size(0); ++row) {
        const float* const other = y.const_data_ptr<float>() + row * C;
        float distance = 0.0f;
        for (int64_t c = 0; c < C && distance < best; ++c) distance += std::min(std::abs(cells[c] - other[c]), 1.0f);
        if (distance >= best) continue;
        best = distance;
        found.row[k] = row;
      }
      found.distance[k] = static_cast<double>(best) / static_cast<double>(C);
    }
  });
  return found;
}

int64_t count_copies(const torch::Tensor& rows, const torch::Tensor& among) {
  // NaNs of any kind are equal here.
  const auto canonical = [](const torch::Tensor& table) {
    return torch::where(table.isnan(), torch::full_like(table, INFINITY), table).contiguous();
  };
  const auto x = canonical(rows);
  const auto y = canonical(among);
  const size_t bytes = static_cast<size_t>(rows.size(1)) * sizeof(double);
  const auto text_of = [&](const torch::Tensor& table, int64_t row) {
    return std::string_view(reinterpret_cast<const char*>(table.const_data_ptr<double>() + row * table.size(1)), bytes);
  };
  std::unordered_set<std::string_view> there;
  for (int64_t row = 0; row < y.size(0); ++row) there.insert(text_of(y, row));
  int64_t n_copies = 0;
  for (int64_t row = 0; row < x.size(0); ++row) n_copies += there.contains(text_of(x, row)) ? 1 : 0;
  return n_copies;
}

}  // namespace segre
