#pragma once

#include <ostream>

#include "segre/ood/detector.h"
#include "segre/ood/rare_pairs.h"
#include "segre/report/text_table.h"

namespace segre {

/// Rows of one source with their scores; larger means odder. Nothing is sorted yet.
struct OddRows {
  Space space;
  torch::Tensor labels;             ///< [N, n] int64
  std::vector<std::string> places;  ///< where each was read from; "" if unknown
  torch::Tensor score;              ///< [N] float64
  torch::Tensor std_error;          ///< [N] float64: of the score
  torch::Tensor percentile;         ///< [N] float64: see percentiles_among
  torch::Tensor variable;           ///< [N] int64: the variable scored; undefined if the score covers all
  torch::Tensor nats;               ///< [N] float64: the bound on -log p
  torch::Tensor nats_error;         ///< [N] float64: its standard error
  torch::Tensor independent;        ///< [N] float64: -log p of independent variables with the training data's shares
  std::vector<std::optional<RarePair>> pairs{};  ///< each row's rarest_pair; empty if not counted
  int64_t n_paired = 0;                          ///< training rows in which they were counted
  /// Each row's numbers and dates outside the range of training, in words: "age = 1e9, not 17 to 90"; "" if there are
  /// none. Empty if no row has any.
  std::vector<std::string> outside{};
  torch::Tensor beyond{};  ///< [N] float64: the largest OutsideValue::beyond of each row; undefined if no row has any
  std::vector<int64_t> file_rows{};  ///< DataSource::file_row of each; empty: 0, 1, ...

  bool is_outside(int64_t row) const { return !outside.empty() && !outside[static_cast<size_t>(row)].empty(); }
  /// Whether a value lies so far outside, by more than the width of the nearest interval, that ordinary rows hardly
  /// ever have one.
  bool is_far_outside(int64_t row) const { return beyond.defined() && beyond[row].item<double>() > 1.0; }
};

/// Percentage of training items that score lower: scores [N], those of training items [M] -> [N] float64.
torch::Tensor percentiles_among(const torch::Tensor& scores, const torch::Tensor& training_scores);

/// The rows, oddest first, ties in their original order: [N] int64.
torch::Tensor oddest_first(const torch::Tensor& scores);

/// The same, but rows with values far outside the range of training before all others, since the model cannot show how
/// odd such a value is: it sees the nearest interval. Values just outside are ordinary: of n + 1 values one is largest.
torch::Tensor oddest_first(const OddRows& rows);

/// One line per row, oddest first: rank (from 1), item (its row in the source, from 0), place, score, std_error,
/// percentile, column (the variable scored, if only one), pair (describe() of the rarest), pair_seen, pair_expected,
/// nats, nats_error, independent, outside (its values outside the range of training) and, for tables, the row's own
/// labels under their column names. If a column is called score, ours is segre_score.
void write_outliers_csv(std::ostream& out, const OddRows& rows);

/// The first `top` rows, for display.
TextTable outliers_table(const OddRows& rows, int64_t top);

/// A sentence with the ranks of the first few rows that have a pair of labels never seen in training; "" if there are
/// none. A row may have one and still score low, if the model knows similar rows.
std::string unseen_pairs_text(const OddRows& rows);

/// A sentence with the number of rows that have values outside the range of training, and of those that therefore come
/// first; "" if there are none.
std::string outside_text(const OddRows& rows);

/// A warning if the noise in the scores of the first `top` rows is as large as the differences between them, so that
/// their order means little; else "". Equal rows have equal scores and count once.
std::string order_warning(const OddRows& rows, int64_t top);

}  // namespace segre
