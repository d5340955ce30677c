#pragma once

#include "segre/core/work.h"
#include "segre/eval/evaluation.h"
#include "segre/runs/load_run.h"

namespace segre {

/// What to compare samples of a run with.
struct EvaluateRunOptions {
  std::string data;             ///< source of held-out items, not seen in training
  std::string train{};          ///< source of the training items; empty: the run's own
  int64_t count = 1000;         ///< samples drawn
  int64_t items = 10'000;       ///< held-out items used, chosen at random if there are more; 0: all
  SampleOptions sample{};       ///< how samples are drawn
  uint64_t seed = 1;            ///< of samples and permutations
  std::string called = "data";  ///< the user's option for `data`, for messages
  std::string train_called = "train";
};

/// What was compared, and the result.
struct RunEvaluation {
  std::shared_ptr<DataSource> source;  ///< of the held-out items; owns data.joint
  EvaluationData data;
  Evaluation found;
  int64_t n_evaluations = 0;         ///< of the network, over all samples
  std::vector<std::string> setting;  ///< human-readable paragraphs on what was compared
  double sample_seconds = 0.0;
  std::vector<std::string> notes{};  ///< what the caller should know about the request, each once
};

/// Compares samples of a run with held-out and training items. `name` is the name of the run, for the text. Several
/// ranks share the drawing; rank 0 alone compares, and `found` is empty elsewhere.
RunEvaluation evaluate_run(const LoadedRun& run, const std::string& name, const EvaluateRunOptions& options,
                           const WorkCallbacks& callbacks = {});

}  // namespace segre
