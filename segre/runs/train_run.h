#pragma once

#include "segre/runs/train_plan.h"
#include "segre/train/train_callbacks.h"

namespace segre {

/// Options of a training that are not in the config, as in Request.
struct TrainRunOptions {
  std::string device = "cpu";
  double max_seconds = 0.0;  ///< time limit for everything; 0: none, as many steps as configured
  double started = 0.0;      ///< the now_seconds() that max_seconds counts from; 0: when train_run is called
  bool resume = false;       ///< continue the run in the directory
  std::string command{};     ///< stored in run.json
  std::shared_ptr<DataSource> source{};  ///< experiment.data, if already open or supplied by the program
  TrainCallbacks callbacks{};            ///< called during training
  CustomField field{};                   ///< a network of the program's own instead of experiment.net
  /// The processes that train together; all of them call train_run with the same arguments, on directories and data
  /// that they can read. Only rank 0 writes, and only its callbacks are called, but any may request to stop.
  std::shared_ptr<Ranks> ranks = one_rank();
};

/// Result of a training.
struct TrainResult {
  Space space;             ///< space of the data
  int64_t steps = 0;       ///< done in total
  int64_t new_steps = 0;   ///< done in this call
  bool finished = false;   ///< false if a signal or callbacks.stop ended it
  bool uses_best = false;  ///< watch.use_best
  int64_t n_items = 0;     ///< learned from; 0: endless
  int64_t n_held_out = 0;
  double independent_nats;  ///< mean -log p of held-out items under independent columns with their label frequencies;
                            ///< NaN without held-out items
  double uniform_nats;      ///< -log p of any item under uniform labels
  std::vector<ValidationPoint> validations{};  ///< made in this call, in order
  torch::Tensor independent_items{};           ///< [K] float64: independent_nats of each of ValidationResult::of_items
  double passes = 0.0;                         ///< over the training items in total; 0: they are endless
};

/// Trains as planned into the plan's directory (metrics, checkpoints) and reports progress through callbacks. Under a
/// time limit the schedule follows the clock and finishes in time, including the last validation and checkpoint;
/// config.toml records the resulting number of steps. At intervals (watch.every) validates the averaged weights and,
/// for images, draws samples from them. A completed run is left unchanged, apart from work that a kill left unfinished.
/// `command` is stored in run.json. Over several ranks all of them call it with their plans; only rank 0 writes, and
/// only its callbacks are called, but any may ask to stop.
TrainResult train_run(TrainPlan plan, const TrainCallbacks& callbacks = {}, const std::string& command = {});

/// The same for an experiment whose every key is given.
TrainResult train_run(const Experiment& experiment, const RunDirectory& run, const TrainRunOptions& options);

}  // namespace segre
