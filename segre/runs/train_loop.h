#pragma once  // internal

#include "segre/recipes/pace.h"
#include "segre/runs/run_directory.h"
#include "segre/runs/run_log.h"
#include "segre/runs/train_run.h"
#include "segre/runs/watch_plan.h"
#include "segre/train/train_clock.h"
#include "segre/train/validation.h"

namespace segre {

/// Everything that train_run does between the first step and the last: advances the trainer, reports progress,
/// validates, draws pictures, saves. Over several ranks all of them go through it together; only rank 0 writes and
/// talks.
class TrainLoop {
 public:
  /// `validation` may be empty. `independent` is the score of independent variables on the held-out items, in nats, NaN
  /// if unknown: shown next to the network's. `pace` is the expected duration of steps under a time limit.
  TrainLoop(Experiment& experiment, const RunDirectory& run, Trainer& trainer, std::optional<Validation> validation,
            double independent, const Pace& pace, const TrainClock& clock, TrainCallbacks callbacks = {});

  /// Trains to the end or until asked to stop; returns the steps done.
  int64_t operator()();
  /// Estimated number of steps still to come.
  int64_t expected_steps() const { return expected_steps_; }
  /// Continues from a checkpoint's state.
  void load(const NamedTensors& state);
  /// Waits for a new best as long as at the beginning: for a finished run that is to go on.
  void renew_patience() { n_without_best_ = 0; }
  /// The validations so far, in order.
  const std::vector<ValidationPoint>& validations() const { return validations_; }

 private:
  bool is_first() const { return clock_.clock().ranks().is_first(); }
  void agree_on_past();
  int64_t total() const { return trainer_.options().steps; }
  int64_t n_new() const { return trainer_.n_steps() - first_step_; }
  bool validation_due() const;
  bool patience_is_over() const {
    return experiment_.watch.patience > 0 && n_without_best_ >= experiment_.watch.patience;
  }
  double items_per_second() const;
  void take_losses();
  void tell_progress();
  void write_metrics();
  void validate();
  void draw_samples(int64_t step);
  void fit_into_time();
  void save();
  void write_checkpoint();
  void recover_best();

  Experiment& experiment_;
  const RunDirectory& run_;
  Trainer& trainer_;
  std::optional<Validation> validation_;
  double independent_;
  TrainClock clock_;
  TrainCallbacks callbacks_;
  int64_t most_steps_;  // under a time limit
  int64_t expected_steps_;
  WatchPlan plan_;
  int64_t first_step_;
  std::optional<RunLog> log_;  // of rank 0
  double best_loss_;
  int64_t n_without_best_ = 0;  // validations since the best one
  double last_save_;
  double last_look_;
  double last_told_;
  // Time reserved for the end under a time limit: first an estimate, then the last measurement.
  double validation_seconds_;
  double picture_seconds_;
  double save_seconds_ = 0.0;
  double expected_step_;
  // Losses since the last line of metrics. Saved with checkpoints, so that a resumed run writes the same lines.
  double sum_ = 0.0;
  int64_t n_summed_ = 0;
  double shown_loss_ = 0.0;
  std::vector<ValidationPoint> validations_;
};

}  // namespace segre
