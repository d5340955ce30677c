#pragma once  // internal

#include <functional>
#include <memory>

#include "segre/likelihood/scores.h"
#include "segre/ranks/ranks.h"

namespace segre {

/// Items that ranks score together: each scores its share of them, and all get all scores.
struct ItemsOfRanks {
  torch::Tensor labels;  ///< [K, n]
  std::shared_ptr<Ranks> ranks;

  int64_t count() const { return labels.size(0); }
};

/// Calls of a fast estimator, each of as many items as keep it busy, between two reports of progress.
inline constexpr int64_t kCallsAtOnce = 8;

/// What `find` says of each item, [K, width] float64; it is called with `part` of them at a time.
torch::Tensor columns_of_items(const ItemsOfRanks& items, int64_t part, int64_t width,
                               const std::function<torch::Tensor(const torch::Tensor& labels)>& find,
                               const std::function<void(int64_t done, int64_t total)>& on_progress);

/// The same for an estimator: log_p, std_error and, if it has `n_cells` columns, cells of all items.
ItemScores score_items(const ItemsOfRanks& items, int64_t part, int64_t n_cells,
                       const std::function<ItemScores(const torch::Tensor& labels)>& score,
                       const std::function<void(int64_t done, int64_t total)>& on_progress);

}  // namespace segre
