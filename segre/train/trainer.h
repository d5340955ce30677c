#pragma once

#include "segre/data/source.h"
#include "segre/train/adam.h"
#include "segre/train/objective.h"
#include "segre/train/schedule.h"
#include "segre/train/time_law.h"

namespace segre {

struct TrainOptions {
  Objective objective = Objective::cross_entropy;
  TimeLawKind time_law = TimeLawKind::information;
  bool reweight = false;  ///< weight items back to uniform times, see TimeLaw
  int64_t steps = 8000;   ///< optimiser steps
  int64_t batch = 1024;   ///< items per step
  ScheduleOptions schedule;
  AdamOptions adam;
};

/// From path samples to parameters. A step is a function of the step's number and the state, nothing else: items and
/// noise of step k are numbers k*batch ... of their streams. Hence state(), load() and step() continue to the same
/// bits.
class Trainer {
 public:
  /// Trains the model's field in place. Refuses a batch that does not fit into memory.
  Trainer(Model model, const DataSource& source, const TrainOptions& options, uint64_t seed);

  /// One step; returns mean(weight * loss). Throws Error on a non-finite loss, naming the step, the parameters
  /// untouched.
  double step();
  /// Steps taken.
  int64_t n_steps() const { return adam_.n_steps(); }
  /// The bound on -log p that the time law has seen lately, see TimeLaw::nats.
  double nats() const { return law_.nats(); }
  /// Changes the number of steps the schedule runs to.
  void set_total_steps(int64_t steps) { options_.steps = steps; }
  const TrainOptions& options() const { return options_; }
  /// Weights ("weights.*"), buffers ("buffers.*"), averaged weights ("ema.*"), optimiser and time law.
  NamedTensors state() const;
  void load(const NamedTensors& state);

 private:
  ObjectiveValue evaluate_batch(const torch::Tensor& labels, const TimeLaw::Draw& time, uint64_t first_item) const;

  Model model_;
  const DataSource& source_;
  TrainOptions options_;
  uint64_t seed_;
  TimeLaw law_;
  Adam adam_;
};

/// Puts weights out of Trainer::state() into a field: the averaged ones, or the last ones where `averaged` is false.
void load_weights(Field& field, const NamedTensors& state, bool averaged);

}  // namespace segre
