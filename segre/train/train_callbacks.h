#pragma once

#include <functional>
#include <optional>

#include "segre/core/interrupt.h"
#include "segre/train/validation.h"

namespace segre {

/// A training that is about to start.
struct TrainStart {
  const Space& space;
  std::string network;  ///< in words
  int64_t batch;        ///< items per step
  int64_t n_items;      ///< to learn from; 0: endless
  int64_t n_held_out;   ///< to validate on
  int64_t n_parameters;
  int64_t first_step;      ///< steps done before
  int64_t expected_steps;  ///< still to come; under a time limit, an estimate
  double max_seconds;      ///< 0: none
};

/// Progress of a training.
struct TrainProgress {
  int64_t first_step;       ///< steps done before this part of the training
  int64_t step;             ///< steps done, including earlier parts of a resumed run
  int64_t total;            ///< steps in total; under a time limit it changes along the way
  double loss;              ///< mean objective of the latest steps, at most 50
  double seconds;           ///< since this part of the training began
  double items_per_second;  ///< in this part's steps, excluding validations and checkpoints
  double held_out_nats;     ///< of the last validation; NaN before the first
  double independent_nats;  ///< of the held-out items under independent variables; NaN if there are none
};

/// Result of a validation.
struct ValidationProgress {
  int64_t step;
  ValidationResult result;  ///< of the averaged weights on held-out items
  bool is_best;             ///< whether its loss is the lowest so far; its checkpoint is then kept as the best
};

/// Callbacks for a program that embeds a training. All run between two steps on the thread that called train_run, so
/// the training waits for them. Exceptions propagate unchanged out of train_run; the run can be resumed from its last
/// checkpoint.
struct TrainCallbacks {
  /// Before the first step, once everything is resolved.
  std::function<void(const TrainStart&)> on_start{};
  /// Every 50 steps, or once a second if those take longer, and after the last step.
  std::function<void(const TrainProgress&)> on_progress{};
  /// After every validation, with its checkpoint saved if it is the best.
  std::function<void(const ValidationProgress&)> on_validation{};
  /// After every step: returning true ends the training as a signal would, with a checkpoint to resume from.
  std::function<bool()> stop{};
  /// Whether SIGINT and SIGTERM save and stop. By default signals are left to the program.
  bool signals = false;
};

/// While alive, determines whether to stop a training: because of a signal, if enabled, or its callback.
class StopRequest {
 public:
  /// `callbacks` must outlive it.
  explicit StopRequest(const TrainCallbacks& callbacks) : callbacks_(callbacks) {
    if (callbacks.signals) guard_.emplace();
  }
  bool operator()() const { return (guard_ && InterruptGuard::requested()) || (callbacks_.stop && callbacks_.stop()); }

 private:
  const TrainCallbacks& callbacks_;
  std::optional<InterruptGuard> guard_;
};

}  // namespace segre
