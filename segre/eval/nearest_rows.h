#pragma once  // internal

#include <vector>

#include "segre/read/value_table.h"

namespace segre {

/// How near rows come to those of a table. The distance of two rows is the mean over the columns: of labels, 1 if they
/// differ; of numbers, the share of the table's rows between them; 1 if one of them is missing.
struct NearestRows {
  std::vector<double> distance;  ///< [K] to the nearest row, 0 to 1
  std::vector<int64_t> row;      ///< [K] which one, the first of equally near ones
};

/// The nearest of the rows `among` [N, C], N >= 1, by exact search, for each of `rows` [K, C].
NearestRows nearest_rows(const std::vector<ValueColumn>& columns, const torch::Tensor& rows,
                         const torch::Tensor& among);

/// How many of the rows [K, C] are equal to one of `among` [N, C], cell by cell.
int64_t count_copies(const torch::Tensor& rows, const torch::Tensor& among);

}  // namespace segre
