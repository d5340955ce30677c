#pragma once

#include "segre/tasks/detect_outside.h"
#include "segre/tasks/evaluate_run.h"
#include "segre/tasks/predict.h"
#include "segre/tasks/rank_outliers.h"
#include "segre/tasks/sample_run.h"
#include "segre/tasks/score.h"

namespace segre {

/// A loaded model that answers requests: what the command line, the Python package and a server call. It makes the
/// samplers and scorers that requests need once and keeps those used last, with the graphs that they have captured.
///
/// Threads may share a Session, and everything that its const functions return. A result is a function of the request
/// alone: not of its thread, of other requests, or of the size of the batches in which the work is done. Nothing is
/// printed: notes are in the results, and work ends with InputError, Error, Interrupted (WorkCallbacks::stop) or
/// DeadlineExceeded (DeadlineGuard).
///
///   const Session session(load_run("runs/weather", torch::kCPU), "runs/weather");
///   ItemsInMemory rows(items_of(session.space(), Json::parse(R"([{"sky": "rain", "street": null}])")));
///   const Predicted predicted = session.predict(rows, {.column = "street"});
///   std::cout << text_of(to_json(predicted));
class Session {
 public:
  /// `name`: what texts call the model.
  explicit Session(LoadedRun run, std::string name = "the model");
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const LoadedRun& run() const { return run_; }
  const std::string& name() const { return name_; }
  const Space& space() const { return run_.model.space(); }
  /// How the model was trained to be sampled.
  const SampleOptions& sampling() const { return run_.experiment.sample; }

  Sampled sample(const SampleRequest& request, const WorkCallbacks& callbacks = {}) const;
  Completed complete(ItemStream& items, const CompleteRequest& request, const WorkCallbacks& callbacks = {}) const;
  Predicted predict(ItemStream& items, const PredictRequest& request, const WorkCallbacks& callbacks = {}) const;
  /// log p of labels [N, n]; file_rows as in ScoredData.
  ScoredData score(const torch::Tensor& labels, const ScoreOptions& options, const WorkCallbacks& callbacks = {},
                   std::vector<int64_t> file_rows = {}) const;
  /// log p of every labeling of a small space, with their frequencies among n_samples.
  ScoredSpace score_all(const ScoreOptions& options, int64_t n_samples, const WorkCallbacks& callbacks = {}) const;
  /// How odd the rows of a source are; `trained`: see open_run_items.
  RankedRows outliers(const DataSource& source, const DataSource& trained, const OutlierOptions& options,
                      const WorkCallbacks& callbacks = {}) const;
  RunEvaluation evaluate(const EvaluateRunOptions& options, const WorkCallbacks& callbacks = {}) const;
  OutsideReport detect(const DetectOptions& options, const WorkCallbacks& callbacks = {}) const;

  /// What these are made of, for results that are written while the work goes on: a file of samples, a table that is
  /// completed row by row. Their notes are logged.
  std::shared_ptr<const Sampler> sampler(const SampleOptions& options, uint64_t seed) const;
  std::shared_ptr<const Completer> completer(const CompleteOptions& options) const;
  std::shared_ptr<const Completer> completer(const PredictRequest& request) const;
  std::shared_ptr<const Scorer> scorer(const ScoreOptions& options) const;

 private:
  struct Kept;
  LoadedRun run_;
  std::string name_;
  Flow flow_;  // for sampling
  std::unique_ptr<Kept> kept_;
};

}  // namespace segre
