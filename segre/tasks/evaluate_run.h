#pragma once

#include "segre/core/work.h"
#include "segre/eval/evaluation.h"
#include "segre/eval/table_evaluation.h"
#include "segre/read/frame.h"
#include "segre/runs/load_run.h"

namespace segre {

/// A table in memory, in place of a source that is opened by its name.
struct TableInMemory {
  Frame frame{};                         ///< without columns: there are only labels
  std::string options{};                 ///< of read_frame: "csv:DataFrame?without=id"
  std::shared_ptr<DataSource> source{};  ///< its items with the label numbers of the model; not needed for samples
};

/// What to compare samples of a run with.
struct EvaluateRunOptions {
  std::string data{};           ///< source of held-out items, not seen in training
  std::string train{};          ///< source of the training items; empty: the run's own
  std::string samples{};        ///< csv:FILE of rows to evaluate in place of the model's own samples
  int64_t count = 0;            ///< samples; 0: for tables as many as training rows, 1,000 to 10,000; else 1,000
  int64_t items = 10'000;       ///< held-out items used, chosen at random if there are more; 0: all
  SampleOptions sample{};       ///< how samples are drawn
  uint64_t seed = 1;            ///< of samples and permutations
  std::string called = "data";  ///< the user's option for `data`, for messages
  std::string train_called = "train";
  std::string samples_called = "samples";
  std::string target{};  ///< of tables: the column to predict, "none", or empty: see default_target
  /// Tables in memory in place of the sources of these names, which then only name them.
  std::shared_ptr<const TableInMemory> data_table{};
  std::shared_ptr<const TableInMemory> train_table{};
  std::shared_ptr<const TableInMemory> samples_table{};
};

/// A table's evaluation, and the values it was made of.
struct EvaluatedTable {
  TableEvaluationData data;
  TableEvaluation found;
};

/// What was compared, and the result.
struct RunEvaluation {
  std::shared_ptr<DataSource> source;  ///< of the held-out items; owns data.joint
  EvaluationData data;
  Evaluation found;                       ///< all metrics, those of `table` included
  std::optional<EvaluatedTable> table{};  ///< of tables, unless their training data are endless
  int64_t n_evaluations = 0;              ///< of the network, over all samples
  std::vector<std::string> setting;       ///< human-readable paragraphs on what was compared
  double sample_seconds = 0.0;
  std::vector<std::string> notes{};  ///< what the caller should know about the request, each once
};

/// Compares samples of a run with held-out and training items. `name` is the name of the run, for the text. Several
/// ranks share the drawing and scoring; rank 0 alone compares, and `found` is empty elsewhere.
RunEvaluation evaluate_run(const LoadedRun& run, const std::string& name, const EvaluateRunOptions& options,
                           const WorkCallbacks& callbacks = {});

/// Compares the rows of `samples` with held-out rows of tables and, if `train` is given, with training rows. No model
/// is needed: the rules of csv: decide what the columns are. Measures that need a model are left out.
RunEvaluation evaluate_samples(const EvaluateRunOptions& options, const WorkCallbacks& callbacks = {});

}  // namespace segre
