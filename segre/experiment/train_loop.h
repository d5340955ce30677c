#pragma once

#include "segre/experiment/pace.h"
#include "segre/experiment/run.h"
#include "segre/experiment/run_log.h"
#include "segre/experiment/train_clock.h"
#include "segre/experiment/watch_plan.h"
#include "segre/train/validation.h"

namespace segre {

/// Everything train_run does between the first step and the last: advances the trainer, tells how it goes, validates,
/// draws pictures, saves.
class TrainLoop {
 public:
  /// `validation` may be empty. `independent` is what independent variables give the held-out items, in nats, NaN where
  /// it is not known: shown beside what the network gives. `pace` is what steps are expected to take under a time
  /// limit.
  TrainLoop(Experiment& experiment, const RunDirectory& run, Trainer& trainer, std::optional<Validation> validation,
            double independent, const Pace& pace, const TrainClock& clock, TrainCallbacks callbacks = {});

  /// Trains to the end or until it is asked to stop; returns the steps done.
  int64_t operator()();
  /// Steps still to come, as far as can be told.
  int64_t expected_steps() const { return expected_steps_; }
  /// Takes up where a checkpoint's state ended.
  void load(const NamedTensors& state);
  /// The validations made, in their order.
  const std::vector<ValidationPoint>& validations() const { return validations_; }

 private:
  int64_t total() const { return trainer_.options().steps; }
  int64_t n_new() const { return trainer_.n_steps() - first_step_; }
  bool validation_due() const;
  double items_per_second() const;
  std::string note() const;
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
  int64_t expected_steps_;
  WatchPlan plan_;
  int64_t first_step_;
  RunLog log_;
  double best_loss_;
  double last_save_ = now_seconds();
  double last_look_ = now_seconds();
  double last_told_ = now_seconds();
  // What the end will take, which the time limit leaves room for: as expected, then as last seen.
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
