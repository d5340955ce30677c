#pragma once

#include "segre/core/work.h"
#include "segre/ood/report.h"
#include "segre/runs/load_run.h"
#include "segre/tasks/score.h"

namespace segre {

/// What to compare.
struct DetectOptions {
  std::string inside;         ///< source of items of the learned kind
  std::string outside;        ///< source of items of another kind
  std::string train{};        ///< source of training items; empty: the run's own
  int64_t items = 1000;       ///< items scored per source, spread evenly over it; 0: all
  int64_t calibration = 512;  ///< training items used to fit the recommended score
  /// The bound on -log p that scores begin with, and what it may spend; they depend only on its seed, the item and the
  /// training data.
  ScoreOptions score{.error = {}, .evaluations = 32};
  std::string inside_called = "inside";  ///< the user's options for the sources, for messages
  std::string outside_called = "outside";
  std::string train_called = "train";
};

/// Scores items of both sources and measures how well each score distinguishes them. `name` is the name of the run, for
/// the report. If several ranks loaded the run, they share the evaluations, and all get the report.
OutsideReport detect_outside(const LoadedRun& run, const std::string& name, const DetectOptions& options,
                             const WorkCallbacks& callbacks = {});

}  // namespace segre
