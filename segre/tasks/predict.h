#pragma once

#include <ostream>

#include "segre/core/work.h"
#include "segre/data/source_name.h"
#include "segre/likelihood/scores.h"
#include "segre/runs/load_run.h"

namespace segre {

/// How good predictions are, over the rows whose truth is known.
struct PredictionQuality {
  int64_t n_rows = 0;   ///< predicted
  int64_t n_truth = 0;  ///< of these, with a known truth
  Measured accuracy{};  ///< share of right predictions
  Measured log_loss{};  ///< mean -log of the truth's probability, nats
  /// Predictions grouped by their probability: how many, the mean probability, and the share of right ones. Calibrated
  /// ones have the last two equal.
  struct Group {
    int64_t count;
    double probability;
    Measured right;
  };
  std::vector<Group> groups{};
  /// Mean distance between the two over the groups, weighted by their counts.
  double calibration_error = 0.0;

  /// A few readable lines.
  std::string describe() const;
};

/// Predicts one column of a table from the others: for each row of `csv:FILE` writes row,label,probability, and the
/// truth and its probability if the file has the column, which may be missing. Missing cells are unknown. `column`
/// names the variable; `what` and `option` start messages. Several ranks share the rows; rank 0 alone writes.
PredictionQuality predict_column(const LoadedRun& run, const SourceName& name, const std::string& what,
                                 const std::string& column, const std::string& option, std::ostream& out,
                                 const WorkCallbacks& callbacks = {});

}  // namespace segre
