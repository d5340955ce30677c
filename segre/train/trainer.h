#pragma once

#include "segre/data/source.h"
#include "segre/train/adam.h"
#include "segre/train/captured_step.h"
#include "segre/train/objective.h"
#include "segre/train/schedule.h"
#include "segre/train/time_law.h"

namespace segre {

struct TrainOptions {
  Objective objective = Objective::cross_entropy;
  TimeLawKind time_law = TimeLawKind::information;
  bool reweight = false;  ///< weight items back to uniform times, see TimeLaw
  int64_t steps = 8000;   ///< optimiser steps
  int64_t epochs = 0;     ///< passes over a finite source instead of steps; 0: as many steps as said
  int64_t batch = 1024;   ///< items per step
  ScheduleOptions schedule;
  AdamOptions adam;
};

/// From path samples to parameters. A step is a function of the step's number and the state, nothing else: items and
/// noise of step k are numbers k*batch ... of their streams. Hence state(), load() and step() continue to the same
/// bits.
///
/// On the CPU a step is cut into shards, one thread each. On CUDA the whole step is captured as a graph and replayed
/// (CapturedStep), with the data on the device where they fit, and losses are read when asked for.
class Trainer {
 public:
  /// Trains the model's field in place. Refuses data of other label counts than the model's and a batch that does not
  /// fit into memory. `compute` is the type that the field's reducible parameters take.
  Trainer(Model model, const DataSource& source, const TrainOptions& options, uint64_t seed,
          torch::ScalarType compute = torch::kFloat32);
  ~Trainer();

  /// Starts the next step; on the CPU it is done when this returns. A non-finite loss leaves the parameters as they
  /// were and throws an Error that names the step, here or, on CUDA, at take_losses(). InputError, as check_labels,
  /// where the source gives items that are not of the space.
  void advance();
  /// Waits for all steps started and gives mean(weight * loss) of each step since the last call. At most kLossRing
  /// steps may lie between two calls.
  std::vector<double> take_losses();
  /// One step and its loss.
  double step();
  static constexpr int64_t kLossRing = 64;

  /// Steps taken.
  int64_t n_steps() const { return adam_.n_steps(); }
  /// The bound on -log p that the time law has seen lately, see TimeLaw::nats. Waits for all steps started.
  double nats() const;
  /// Changes the number of steps the schedule runs to.
  void set_total_steps(int64_t steps) { options_.steps = steps; }
  const TrainOptions& options() const { return options_; }
  const Space& space() const { return model_.space(); }
  /// Largest time the law of t draws.
  double t_max() const { return law_.t_max(); }
  /// The averaged weights by name, for validation and samples on the way. Waits for all steps started.
  NamedTensors average() const;
  /// Weights ("weights.*"), buffers ("buffers.*"), averaged weights ("ema.*"), optimiser and time law. Waits likewise.
  NamedTensors state() const;
  void load(const NamedTensors& state);

 private:
  StepInputs inputs_of(int64_t step) const;
  void run_on_cpu(const StepInputs& inputs);
  void run_on_device(const StepInputs& inputs);
  ObjectiveValue evaluate_shards(const torch::Tensor& labels, const TimeLaw::Draw& time, uint64_t first_item) const;
  void wait() const;

  Model model_;
  const DataSource& source_;
  TrainOptions options_;
  uint64_t seed_;
  TimeLaw law_;
  Adam adam_;
  torch::Tensor resident_;  // the dataset's labels on the device, where they fit
  torch::Tensor losses_;    // [kLossRing]
  torch::Tensor go_;        // [1] 1 until a loss or gradient is not finite
  std::unique_ptr<CapturedStep> captured_;
  int64_t n_taken_ = 0;  // steps whose losses were taken
};

/// Puts weights out of Trainer::state() into a field: the averaged ones, or the last ones where `averaged` is false.
void load_weights(Field& field, const NamedTensors& state, bool averaged);

/// The steps a training takes: options.steps, or as many as the epochs of a finite source.
int64_t total_steps(const TrainOptions& options, const DataSource& source);

}  // namespace segre
