#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "segre/experiment/experiment.h"

namespace segre {

/// A directory that training writes and everything later reads:
///   config.toml                        the resolved config
///   run.json                           command, revision, device, seed
///   metrics.jsonl                      a line per logged step
///   checkpoints/step-NNNNNNNNNNNNN/    model.safetensors (weights, averages, optimiser), model.json (space, step)
/// Checkpoints appear whole or not at all; the last two are kept.
class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }

  /// Makes the directory; Error where it cannot be.
  void create() const;
  void write_config(const Experiment& experiment) const;
  void write_info(const nlohmann::json& info) const;
  /// Adds a checkpoint and removes all but the last two.
  void save(int64_t step, const NamedTensors& state, const Space& space) const;
  /// The newest checkpoint's directory, if there is one.
  std::optional<std::filesystem::path> latest() const;

 private:
  std::filesystem::path path_;
};

/// A model read back from a run, ready to sample, with the config it was trained by.
struct LoadedRun {
  Experiment experiment;
  Model model;
  int64_t step;
};

/// Loads the newest checkpoint of a run with its averaged weights. InputError where the directory is no run.
LoadedRun load_run(const std::filesystem::path& path, torch::Device device);

/// How training is driven, beside the config.
struct TrainRunOptions {
  std::string device = "cpu";
  double max_seconds = 0.0;  ///< fit the number of steps into this time; 0: as configured
  bool resume = false;       ///< continue the run in the directory
  std::string command{};     ///< kept in run.json
};

/// Trains an experiment into a directory: progress on stderr, metrics, checkpoints; SIGINT and SIGTERM save and stop.
/// With max_seconds the schedule follows the speed measured so that it ends in time; the number of steps it came to is
/// in config.toml. Returns the steps done (fewer than train.steps where a signal came).
int64_t train_run(Experiment experiment, const RunDirectory& run, const TrainRunOptions& options);

/// "cpu", "cuda", "cuda:1" -> device; InputError where it is not there.
torch::Device parse_device(const std::string& name);

}  // namespace segre
