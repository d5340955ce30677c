#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "segre/ranks/ranks.h"
#include "segre/recipes/recipe.h"
#include "segre/runs/run_directory.h"

namespace segre {

/// What somebody wants trained. Everything that it leaves open is decided by plan_training.
struct Request {
  std::string config{};  ///< TOML file with some keys or all; empty: none
  std::string data{};    ///< source instead of the config's, with its own validation; empty: the config's
  std::shared_ptr<DataSource> source{};    ///< `data`, if already open or only in memory
  std::vector<std::string> set{};          ///< "key=value"
  std::string set_called = "set";          ///< the user's option for assignments, for messages
  std::optional<Experiment> experiment{};  ///< every key, instead of a recipe changed by `config`, `data` and `set`
  CustomField field{};                     ///< the program's own network; none is chosen then
  std::filesystem::path out{};             ///< directory of the run; empty: only a plan is wanted
  bool resume = false;                     ///< continue the run in `out`
  torch::Device device = torch::kCPU;
  double max_seconds = 0.0;  ///< time limit for everything; 0: none, as many steps as configured
  double started = 0.0;      ///< the now_seconds() that max_seconds counts from; 0: when plan_training is called
  /// The processes that train together; all of them call plan_training with the same request.
  std::shared_ptr<Ranks> ranks = one_rank();
  std::function<void(const std::string&)> on_reason = [](const std::string&) {};  ///< called with each reason at once
  std::function<bool()> stop{};  ///< called now and then while a recipe is chosen; true ends that with Interrupted
};

/// All that is decided about a training before its first step. Everything from here on uses this value: the training
/// itself, its log and its checkpoints.
struct TrainPlan {
  Experiment experiment{};             ///< every key; train.steps also where epochs were asked for
  CustomField field{};                 ///< the program's own network, if any
  TrainingData data{};                 ///< what to learn from and to validate on
  DataFingerprint fingerprint{};       ///< of both
  std::vector<std::string> reasons{};  ///< why this network, in words
  std::vector<Heat> heats{};           ///< of the race between networks, if there was one
  torch::Device device = torch::kCPU;
  std::shared_ptr<Ranks> ranks = one_rank();
  double max_seconds = 0.0;                       ///< time limit; 0: none
  double started = 0.0;                           ///< the now_seconds() of rank 0 that it counts from
  TrainLength length{};                           ///< steps to come, and their pace under a time limit
  std::filesystem::path out{};                    ///< directory of the run
  std::optional<CheckpointDescription> before{};  ///< the checkpoint that is continued, if any
  std::shared_ptr<ProcessLock> lock{};            ///< of `out`, if that exists: held as long as the plan

  bool is_limited() const { return max_seconds > 0.0; }
  /// Whether the run has taken all its steps. A killed one may still have to finish the work after the last.
  bool is_complete() const { return before && before->step == experiment.train.steps && !is_limited(); }
};

/// Decides everything: opens the data and divides them, chooses the network, and under a time limit measures its pace.
/// A new run gets the recipe for the data, changed by the config and by the rest; the recipe is that for the network
/// that they name, or chooses one. It depends on the device and, unless there is no time limit or the config names the
/// network, fits the training into that time, for which networks may race. A resumed run gets its own config.toml,
/// which may have been edited by hand, or the config of its last checkpoint if that file is gone, changed likewise.
/// InputError if there is nothing to learn, if the time limit allows next to no steps, if `out` has a run that is not
/// to be resumed, or if the changes would make a resumed run a different one.
TrainPlan plan_training(const Request& request);

/// The first part of that for a new run, without dividing the data or measuring: the experiment and its open source.
struct Resolved {
  Choice choice;
  std::shared_ptr<DataSource> source;
};
Resolved resolve(const Request& request);

}  // namespace segre
