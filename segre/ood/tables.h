#pragma once  // internal

#include <ostream>

#include "segre/ood/scores.h"
#include "segre/report/text_table.h"

namespace segre {

/// Digits of a score in a CSV; finer than the noise of any score.
inline constexpr int kScoreDigits = 9;

/// Items of one source with everything computed for them.
struct ScoredItems {
  std::string source;         ///< as named by the user
  torch::Tensor numbers;      ///< [N] int64: DataSource::file_row of each
  torch::Tensor labels;       ///< [N, n] int64
  torch::Tensor nats;         ///< [N] float64: estimates of upper bounds on -log p
  torch::Tensor std_error;    ///< [N] float64: of nats
  std::vector<Score> scores;  ///< by OutsideScores
};

/// One line per item: set (inside or outside), its number in the source (of a table, its row), standard error of the
/// nats, every score.
void write_scores_csv(std::ostream& out, const ScoredItems& inside, const ScoredItems& outside);

/// One line per score: its family, AUROC with interval, AUROC if reversed, false positive rate at 95% recall with
/// interval, and the lead of the recommended score's AUROC over its better direction, with interval.
void write_auroc_csv(std::ostream& out, const std::vector<ScoreResult>& results);

/// The same for display.
TextTable auroc_table(const std::vector<ScoreResult>& results);

}  // namespace segre
