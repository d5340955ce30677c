#pragma once

#include "segre/core/progress.h"
#include "segre/experiment/run.h"
#include "segre/experiment/run_log.h"
#include "segre/train/validation.h"

namespace segre {

/// Everything train_run does between the first step and the last: advances the trainer, tells how it goes, validates,
/// draws pictures, saves.
class TrainLoop {
 public:
  /// `validation` may be empty.
  TrainLoop(Experiment& experiment, const RunDirectory& run, Trainer& trainer, std::optional<Validation> validation,
            double max_seconds, TrainCallbacks callbacks = {});

  /// Trains to the end or until it is asked to stop; returns the steps done.
  int64_t operator()();
  /// Takes up where a checkpoint's state ended.
  void load(const NamedTensors& state);

 private:
  int64_t total() const { return trainer_.options().steps; }
  double elapsed() const { return now_seconds() - start_; }
  bool validation_due() const;
  void take_losses();
  void tell_progress();
  void write_metrics();
  void validate();
  void draw_samples(int64_t step);
  void fit_into_time();
  void save();
  void recover_best();

  Experiment& experiment_;
  const RunDirectory& run_;
  Trainer& trainer_;
  std::optional<Validation> validation_;
  double max_seconds_;
  TrainCallbacks callbacks_;
  int64_t first_step_;
  RunLog log_;
  double best_loss_;
  double start_ = now_seconds();
  double last_save_ = now_seconds();
  double last_look_ = now_seconds();
  double last_told_ = now_seconds();
  // Losses since the last line of metrics. Saved with checkpoints, so that a resumed run writes the same lines.
  double sum_ = 0.0;
  int64_t n_summed_ = 0;
  double shown_loss_ = 0.0;
  int64_t n_validations_ = 0;
};

}  // namespace segre
