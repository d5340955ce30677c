#pragma once  // internal

#include <string>
#include <vector>

#include "segre/core/work.h"
#include "segre/eval/intervals.h"
#include "segre/read/value_table.h"

namespace segre {

/// Whether boosted trees can tell rows of two tables apart.
struct TwoSampleTest {
  Estimate auc;               ///< of the second table's rows against the first's, 3 folds: 0.5 is not told apart
  int64_t n_rows = 0;         ///< of each table
  std::vector<double> gains;  ///< the share of each column in what the trees gained, [C]

  /// The detection score 1 - max(0, 2 AUC - 1): 1 is best.
  Estimate score() const;
};

/// Fewest rows of each table.
inline constexpr int64_t kFewestTested = 12;

/// Learns two thirds of the rows and ranks the others, three times. The interval is DeLong's of the folds with twice
/// the variance, since each row is learned from in two of them: 95% of equal tables have 0.5 in it. At most `most_rows`
/// of each table, equally many of both, chosen by the seed. InputError with fewer than kFewestTested.
///   real, others  [N, C], [M, C] values
TwoSampleTest two_sample_test(const std::vector<ValueColumn>& columns, const torch::Tensor& real,
                              const torch::Tensor& others, uint64_t seed, int64_t most_rows = 10'000);

/// `count` rows of a table in random order, part `part` of the seed; all if there are fewer.
torch::Tensor choose_rows(const torch::Tensor& table, int64_t count, uint64_t seed, int64_t part);

/// Rows whose columns are independent: each column of a table in an order of its own.
torch::Tensor shuffle_columns(const torch::Tensor& table, uint64_t seed);

/// How well trees that learned from one table predict a column of another from its other columns.
struct Usefulness {
  std::vector<double> score;  ///< of each tested row that the outcome is the second label; empty unless it is of two
  std::vector<double> right;  ///< of each tested row: 1 or 0 for labels, the absolute error for numbers
  double explained = 0.0;     ///< of numbers: 1 - mean square error / variance (R2)
};

/// Rows whose number is missing are left out, of both tables.
Usefulness learn_and_predict(const std::vector<ValueColumn>& columns, int64_t target, const torch::Tensor& learned,
                             const torch::Tensor& tested);

}  // namespace segre
