#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "segre/experiment/experiment.h"
#include "segre/path/time_density.h"

namespace segre {

/// A directory that training writes and everything later reads:
///   config.toml                        the resolved config
///   run.json                           command, revision, device, seed
///   metrics.jsonl                      a line per logged step and per validation
///   samples/step-NNNNNNNNNNNNN.png     samples on the way, of images
///   checkpoints/step-NNNNNNNNNNNNN/    model.safetensors (weights, averages, optimiser), model.json (config, space)
///   checkpoints/best.json              which of them had the lowest validation loss
/// Checkpoints appear whole or not at all; the last few and the best are kept.
class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }

  /// Where the samples drawn at a step are kept.
  std::filesystem::path picture(int64_t step) const;

  /// Makes the directory and clears what a crash left unfinished; Error where it cannot be.
  void create() const;
  void write_config(const Experiment& experiment) const;
  void write_info(const nlohmann::json& info) const;
  /// Adds a checkpoint and removes all but the last `experiment.watch.keep` and the best.
  void save(int64_t step, const NamedTensors& state, const Space& space, const Experiment& experiment) const;
  /// Marks the checkpoint of a step as the best.
  void mark_best(int64_t step, double validation_loss) const;
  /// The lowest validation loss marked; infinity where there is none.
  double best_loss() const;
  /// The newest checkpoint's directory, if there is one.
  std::optional<std::filesystem::path> latest() const;
  /// The best one's, if it is there.
  std::optional<std::filesystem::path> best() const;

 private:
  std::filesystem::path path_;
};

/// A model read back from a run, ready to sample, with the config it was trained by.
struct LoadedRun {
  Experiment experiment;
  Model model;
  int64_t step;
  TimeDensity times;  ///< where the likelihood's integrand is spread along the path, as training learned it; else
                      ///< uniform
};

/// Which checkpoint of a run.
enum class Checkpoint { last, best };

/// Loads a checkpoint of a run with its averaged weights. InputError where the directory is no run. `precision`, unless
/// automatic, stands in for the config's net.precision.
LoadedRun load_run(const std::filesystem::path& path, torch::Device device, Checkpoint which = Checkpoint::last,
                   NetPrecision precision = NetPrecision::automatic);

/// Writes what sampling and scoring need of a run, the averaged weights and the law of times without the optimiser, as
/// a run of its own.
void export_run(const std::filesystem::path& from, const std::filesystem::path& to, Checkpoint which);

/// How training is driven, beside the config.
struct TrainRunOptions {
  std::string device = "cpu";
  double max_seconds = 0.0;              ///< fit the number of steps into this time; 0: as configured
  bool resume = false;                   ///< continue the run in the directory
  std::string command{};                 ///< kept in run.json
  std::shared_ptr<DataSource> source{};  ///< experiment.data, where it is open already
};

/// Trains an experiment into a directory: progress on stderr, metrics, checkpoints; SIGINT and SIGTERM save and stop.
/// With max_seconds the schedule follows the clock and ends with it; the number of steps it came to is in config.toml.
/// Every watch.every steps the averaged weights are validated and, for images, drawn from. Returns the steps done
/// (fewer than train.steps where a signal came).
int64_t train_run(Experiment experiment, const RunDirectory& run, const TrainRunOptions& options);

/// "cpu", "cuda", "cuda:1" -> device; InputError where it is not there.
torch::Device parse_device(const std::string& name);

}  // namespace segre
