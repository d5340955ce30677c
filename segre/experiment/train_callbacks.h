#pragma once

#include <functional>
#include <optional>

#include "segre/core/interrupt.h"
#include "segre/experiment/experiment.h"
#include "segre/train/validation.h"

namespace segre {

/// What a training is about to do.
struct TrainStart {
  const Experiment& experiment;  ///< resolved
  const Space& space;
  int64_t n_items;     ///< to learn from; 0: drawn without end
  int64_t n_held_out;  ///< to validate on
  int64_t n_parameters;
  int64_t first_step;      ///< steps done before
  int64_t expected_steps;  ///< still to come, under a time limit as far as can be told
  double max_seconds;      ///< 0: none
};

/// How far a training is.
struct TrainProgress {
  int64_t step;             ///< steps done, those of earlier parts of a resumed run included
  int64_t total;            ///< steps there will be; under a time limit it changes on the way
  double loss;              ///< mean of the objective over the latest steps, at most 50 of them
  double seconds;           ///< since this part of the training began
  double items_per_second;  ///< of this part's steps, without what validations and checkpoints take
};

/// What a validation found.
struct ValidationProgress {
  int64_t step;
  ValidationResult result;  ///< of the averaged weights on held-out items
  bool is_best;             ///< whether no earlier one had as low a loss; its checkpoint is kept as the best
};

/// What a program that embeds a training wants to be told and asked. All are called between two steps on the thread
/// that called train_run, so they may take their time, and the training waits. An exception that one throws leaves
/// train_run as it is; the run can be resumed from its last checkpoint.
struct TrainCallbacks {
  /// Before the first step, when everything is resolved.
  std::function<void(const TrainStart&)> on_start{};
  /// Every 50 steps, once a second where those take longer, and after the last step.
  std::function<void(const TrainProgress&)> on_progress{};
  /// After every validation, its checkpoint saved if it is the best.
  std::function<void(const ValidationProgress&)> on_validation{};
  /// After every step: true ends the training as a signal would, with a checkpoint from which it can be resumed.
  std::function<bool()> stop{};
  /// Whether SIGINT and SIGTERM save and stop; false leaves the program's own handling of signals alone.
  bool signals = true;
};

/// While alive, whether a training is asked to stop: by a signal, if it listens to them, or by its callback.
class StopRequest {
 public:
  /// `callbacks` outlive it.
  explicit StopRequest(const TrainCallbacks& callbacks);
  bool operator()() const;

 private:
  const TrainCallbacks& callbacks_;
  std::optional<InterruptGuard> guard_;
};

}  // namespace segre
