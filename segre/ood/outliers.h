#pragma once

#include <ostream>

#include "segre/ood/rare_pairs.h"
#include "segre/ood/tables.h"

namespace segre {

/// Rows of one source with their scores; larger means odder. Nothing is sorted yet.
struct OddRows {
  Space space;
  torch::Tensor labels;             ///< [N, n] int64
  std::vector<std::string> places;  ///< where each was read; "" if nothing is known
  torch::Tensor score;              ///< [N] float64
  torch::Tensor std_error;          ///< [N] float64: of the score
  torch::Tensor percentile;         ///< [N] float64: see percentiles_among
  torch::Tensor variable;           ///< [N] int64: which variable the score is of; undefined if of all together
  torch::Tensor nats;               ///< [N] float64: the bound on -log p
  torch::Tensor nats_error;         ///< [N] float64: its standard error
  torch::Tensor independent;        ///< [N] float64: -log p of independent variables with the training data's shares
  std::vector<std::optional<RarePair>> pairs{};  ///< each row's rarest_pair; empty if none were counted
  int64_t n_paired = 0;                          ///< training rows among which they were counted
};

/// What part of training items scores lower, in percent: scores [N], those of training items [M] -> [N] float64.
torch::Tensor percentiles_among(const torch::Tensor& scores, const torch::Tensor& training_scores);

/// The rows, oddest first, equal ones in their own order: [N] int64.
torch::Tensor oddest_first(const torch::Tensor& scores);

/// A line per row, oddest first: rank (from 1), item (its number in the source, from 0), place, score, std_error,
/// percentile, column (which the score is of, if of one), pair (describe of the rarest one), pair_seen, pair_expected,
/// nats, nats_error, independent and, of tables, the row's own labels under their columns' names; where a column is
/// called score, ours is segre_score.
void write_outliers_csv(std::ostream& out, const OddRows& rows);

/// The first `top` rows for people.
TextTable outliers_table(const OddRows& rows, int64_t top);

/// Which rows have a pair of labels that training never had, in a sentence that names the ranks of the first few; "" if
/// there are none. A row may have one and still score low, where the model knows its like.
std::string unseen_pairs_text(const OddRows& rows);

/// Whether the order of the first `top` rows means anything: a sentence that says so where the noise of their scores is
/// as large as the differences between them, else "". Equal rows have equal scores and count once.
std::string order_warning(const OddRows& rows, int64_t top);

}  // namespace segre
