#pragma once  // internal

#include "segre/train/timetable.h"
#include "segre/train/train_callbacks.h"
#include "segre/train/trainer.h"
#include "segre/train/watcher.h"

namespace segre {

/// A training from the first step to the last: advances the trainer, reports progress, validates, draws pictures,
/// saves. Over several ranks all of them go through it together.
class TrainLoop {
 public:
  /// `callbacks` are called on this rank.
  TrainLoop(Trainer& trainer, const Timetable& timetable, Watcher watcher, TrainRecord& record,
            TrainCallbacks callbacks = {});

  /// Trains to the end or until it is to stop; returns the steps done.
  int64_t operator()();
  /// Continues from a checkpoint's state.
  void load(const NamedTensors& state);
  /// The validations so far, in order.
  const std::vector<ValidationPoint>& validations() const { return watcher_.validations(); }

 private:
  // Losses since the last line of the log. Saved with checkpoints, so that a resumed run writes the same lines.
  struct LossWindow {
    double sum = 0.0;
    int64_t count = 0;
    double mean = 0.0;  // kept when a line is written
  };

  AgreedClock& clock() { return timetable_.clock().clock(); }
  double now() const { return timetable_.clock().now(); }
  int64_t step() const { return trainer_.n_steps(); }
  int64_t total() const { return trainer_.options().steps; }
  int64_t n_new() const { return step() - first_step_; }
  double steps_per_second() const;
  void advance();
  void take_losses();
  void report_progress();
  void log_losses();
  void validate();
  void save();

  Trainer& trainer_;
  Timetable timetable_;
  Watcher watcher_;
  TrainRecord& record_;
  TrainCallbacks callbacks_;
  int64_t first_step_;
  LossWindow losses_;
  double last_look_;
  double last_report_;
};

}  // namespace segre
