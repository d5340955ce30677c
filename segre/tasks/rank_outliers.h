#pragma once

#include "segre/core/work.h"
#include "segre/data/source.h"
#include "segre/ood/outliers.h"
#include "segre/runs/load_run.h"

namespace segre {

/// How to score rows.
struct OutlierOptions {
  int64_t items = 0;           ///< only the first N; 0: all
  int64_t calibration = 1000;  ///< maximum number of items that percentiles refer to
  torch::Tensor held_out{};    ///< [K, n] items that training did not learn from, for the percentiles: of what it
                               ///< learned, too little is odd. Undefined: training items
  /// Target standard error of each row's score, in nats. 0: 1 for images and sequences; for tables 0.1 of the rows that
  /// may be among the first, whose order is the result, and what the fewest evaluations give of the others.
  double error = 0.0;
  int64_t first = 10;  ///< how many rows the first are, at least; 100 and a twentieth of all count as first anyway
  int64_t times = 0;   ///< maximum evaluations per row, a multiple of 4; 0: 4096 for the scores of tables, and
                       ///< for -log p 32 for tables of many rows, ten minutes' worth otherwise
  uint64_t seed = 1;
  std::string called = "data";  ///< the user's option for the rows, for messages
};

/// Rows with their scores, unsorted, and what was spent on them.
struct RankedRows {
  OddRows rows;
  std::string account;               ///< a sentence on evaluations, errors and percentiles
  std::vector<std::string> notes{};  ///< what the caller should know about the request, each once
};

/// Scores how odd the rows of a source are; its labels are numbered like the run's (open_source_for).
/// `train` are the training items, see open_run_items. Several ranks share the evaluations; all get all scores. A
/// deadline leaves larger errors, which the account names, and ends the work with DeadlineExceeded only if some rows
/// have no score yet, or if there are several ranks. Progress is one count from beginning to end.
RankedRows rank_outliers(const LoadedRun& run, const DataSource& source, const DataSource& train,
                         const OutlierOptions& options, const WorkCallbacks& callbacks = {});

}  // namespace segre
