#pragma once

#include <optional>

#include "segre/config/schema.h"
#include "segre/data/source.h"
#include "segre/ranks/ranks.h"
#include "segre/train/adam.h"
#include "segre/train/captured_step.h"
#include "segre/train/evidence.h"
#include "segre/train/holes.h"
#include "segre/train/objective.h"
#include "segre/train/schedule.h"
#include "segre/train/time_law.h"

namespace segre {

class DeviceExchange;
class ParameterExchange;

/// The type in which gradients travel between the GPUs of ranks.
enum class ReduceType { float32, bfloat16 };

struct TrainOptions {
  Objective objective = Objective::cross_entropy;
  TimeLawKind time_law = TimeLawKind::information;
  bool reweight = false;     ///< weight items back to uniform times, see TimeLaw
  EvidenceOptions evidence;  ///< what the network is shown besides the state of the flow
  bool fill_holes = true;    ///< fill unknown labels by the model's own draws, see TrainingHoles, or leave them out
  int64_t steps = 8000;      ///< optimiser steps
  int64_t epochs = 0;        ///< passes over a finite source instead of `steps`; 0: use `steps`
  int64_t batch = 1024;      ///< items per step, over all ranks
  int64_t shards = 0;        ///< parts of a batch whose gradients are added in a tree, a power of two; 0: chosen
  ReduceType reduce = ReduceType::float32;
  ScheduleOptions schedule;
  AdamOptions adam;
};

/// Declares the keys train.*.
void declare_train_keys(ConfigSchema& schema, TrainOptions& options);

/// Trains a model's parameters on path samples. A step depends only on its number and the state: step k uses items and
/// noise number k*batch ... of their streams. Hence training resumed with state() and load() gives the same bits.
///
/// Over several ranks, each handles its part of every batch, and all of them hold the same parameters after each step.
/// They must make the same calls. Use from one thread at a time: it brings its own.
///
/// On the CPU a step is split into shards, one thread each, whose gradients are added in a fixed tree: bits do not
/// depend on the number of threads or ranks. On CUDA the whole step is captured as a graph and replayed (CapturedStep),
/// with the data on the device if they fit, and losses are read on request.
class Trainer {
 public:
  /// Trains the model's field in place. Refuses data whose label counts differ from the model's and a batch that does
  /// not fit into memory. `compute` is the type of the field's reducible parameters.
  Trainer(Model model, const DataSource& source, const TrainOptions& options, uint64_t seed,
          torch::ScalarType compute = torch::kFloat32, std::shared_ptr<Ranks> ranks = one_rank());
  ~Trainer();

  /// Starts the next step; on the CPU it is complete on return. A non-finite loss leaves the parameters unchanged and
  /// throws an Error that names the step, here or, on CUDA, in take_losses(). InputError, like check_labels, if the
  /// source returns items that do not belong to the space.
  void advance();
  /// Waits for all started steps and returns mean(weight * loss) of each step since the last call. At most kLossRing
  /// steps may pass between two calls.
  std::vector<double> take_losses();
  /// Takes one step and returns its loss.
  double step();
  static constexpr int64_t kLossRing = 64;

  /// Steps taken.
  int64_t n_steps() const { return adam_->n_steps(); }
  /// The time law's current bound on -log p, see TimeLaw::nats. Waits for all started steps.
  double nats() const;
  /// Changes the number of steps of the schedule.
  void set_total_steps(int64_t steps) { options_.steps = steps; }
  const TrainOptions& options() const { return options_; }
  /// Parts of a batch that ranks can share; 1: every rank does all of it.
  int64_t n_shards() const { return n_shards_; }
  /// Whether unknown labels of the data are filled by the model's own draws; otherwise they are left out of the loss.
  bool fills_holes() const { return holes_.has_value(); }
  const Space& space() const { return model_.space(); }
  /// Largest time drawn.
  double t_max() const { return law_.t_max(); }
  /// The averaged weights by name, for validation and samples during training. Waits for all started steps.
  NamedTensors average() const;
  /// Weights, buffers, averaged weights, optimiser and time law, by the names in state_names.h. Also waits.
  NamedTensors state() const;
  void load(const NamedTensors& state);

 private:
  struct Whole;
  Rows shard(int64_t k) const;
  Rows own_shards() const;
  Rows own_items() const;
  StepInputs inputs_of(int64_t step) const;
  torch::Tensor fill_holes(const torch::Tensor& labels, uint64_t first_item) const;
  void run_on_cpu(const StepInputs& inputs);
  void run_on_device(const StepInputs& inputs);
  void compute_on_device(const StepInputs& inputs);
  void apply_on_device(const StepInputs& inputs);
  ObjectiveValue evaluate_on_device(const StepInputs& inputs, const TimeLaw::Draw& time, torch::Tensor& plain);
  struct DeviceResult;
  void finish_on_device(const StepInputs& inputs, const TimeLaw::Draw& time, const DeviceResult& result);
  void share_on_device();
  std::unique_ptr<CapturedStep> capture();
  std::vector<CapturedStep::Stage> stages();
  std::vector<ObjectiveValue> evaluate_shards(const torch::Tensor& labels, const EvidenceLaw::Draw& told,
                                              const torch::Tensor& weight, uint64_t first_item) const;
  Whole join_shards(std::vector<ObjectiveValue> shards, const torch::Tensor& plain);
  void wait() const;

  Model model_;
  const DataSource& source_;
  TrainOptions options_;
  uint64_t seed_;
  std::shared_ptr<Ranks> ranks_;
  TimeLaw law_;
  EvidenceLaw evidence_;
  std::optional<TrainingHoles> holes_;  // if they are filled
  int64_t n_shards_;
  std::shared_ptr<ParameterExchange> exchange_;  // if ranks share the shards on the CPU
  std::shared_ptr<DeviceExchange> on_device_;    // if they share batches on CUDA
  TimeLaw::Draw drawn_;                          // the times of the step before its exchange
  std::unique_ptr<Adam> adam_;
  torch::Tensor resident_;  // the dataset's labels on the device, if they fit
  torch::Tensor losses_;    // [kLossRing]
  torch::Tensor go_;        // [1] 1 until a loss or gradient is not finite
  std::unique_ptr<CapturedStep> captured_;
  int64_t n_taken_ = 0;  // steps whose losses were taken
};

/// A field's weights and buffers by their names in Trainer::state(): the weights as the averaged ones, or as the last
/// ones if `averaged` is false.
NamedTensors named_weights(const Field& field, bool averaged);

/// Loads weights from Trainer::state() into a field: the averaged ones, or the last ones if `averaged` is false.
void load_weights(Field& field, const NamedTensors& state, bool averaged);

/// The number of training steps: options.steps, or as many as the epochs of a finite source take.
int64_t total_steps(const TrainOptions& options, const DataSource& source);

}  // namespace segre
