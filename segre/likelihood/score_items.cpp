#include "segre/likelihood/score_items.h"

#include <algorithm>

#include "segre/flow/row_blocks.h"

namespace segre {
namespace {

// Scores as columns that ranks exchange, and back: log_p, std_error and cells, if there are any.
constexpr int64_t kScoreColumns = 2;

torch::Tensor columns_of(const ItemScores& scores) {
  const auto columns = torch::stack({scores.log_p, scores.std_error}, 1);
  return scores.cells.defined() ? torch::cat({columns, scores.cells}, 1) : columns;
}

ItemScores scores_in(const torch::Tensor& columns) {
  ItemScores scores{.log_p = columns.select(1, 0).contiguous(), .std_error = columns.select(1, 1).contiguous()};
  if (columns.size(1) > kScoreColumns) scores.cells = columns.slice(1, kScoreColumns).contiguous();
  return scores;
}

}  // namespace

torch::Tensor columns_of_items(const ItemsOfRanks& items, int64_t part, int64_t width,
                               const std::function<torch::Tensor(const torch::Tensor& labels)>& find,
                               const std::function<void(int64_t done, int64_t total)>& on_progress) {
  const SharedRows rows(items.ranks, items.count());
  const auto own = items.labels.slice(0, rows.own().from, rows.own().to);
  std::vector<torch::Tensor> found{torch::empty({0, width}, torch::kFloat64)};
  for (int64_t first = 0; first < own.size(0); first += part) {
    found.push_back(find(own.slice(0, first, first + part)));
    const int64_t done = std::min(own.size(0), first + part);
    if (on_progress) on_progress(done * items.count() / own.size(0), items.count());  // others are as far
  }
  return rows.gather(torch::cat(found));
}

ItemScores score_items(const ItemsOfRanks& items, int64_t part, int64_t n_cells,
                       const std::function<ItemScores(const torch::Tensor& labels)>& score,
                       const std::function<void(int64_t done, int64_t total)>& on_progress) {
  const auto find = [&](const torch::Tensor& labels) { return columns_of(score(labels)); };
  return scores_in(columns_of_items(items, part, kScoreColumns + n_cells, find, on_progress));
}

}  // namespace segre
