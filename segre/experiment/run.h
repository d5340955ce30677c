#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "segre/experiment/checkpoint.h"
#include "segre/experiment/train_callbacks.h"
#include "segre/io/lock.h"
#include "segre/path/time_density.h"
#include "segre/train/validation.h"

namespace segre {

/// A directory that training writes and everything later reads:
///   config.toml                        the resolved config
///   run.json                           command, revision, device, seed
///   metrics.jsonl                      a line per logged step and per validation
///   samples/step-NNNNNNNNNNNNN.png     samples on the way, of images
///   checkpoints/step-NNNNNNNNNNNNN/    model.safetensors (weights, averages, optimiser), model.json (config, space)
///   checkpoints/best.json              which of them had the lowest validation loss
///   .lock                              which process writes, while one does
/// Checkpoints appear whole or not at all; the last few and the best are kept. Everything else in the directory is the
/// user's: names that differ by a letter are neither read nor removed.
class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }

  /// Where the samples drawn at a step are kept.
  std::filesystem::path picture(int64_t step) const;

  /// What the run learns from; checkpoints saved from here on say so.
  void set_data(DataFingerprint data) { data_ = std::move(data); }

  /// Makes the directory if it is missing and keeps other processes from writing it while the lock lives; InputError
  /// if one does already. Reading needs no lock.
  [[nodiscard]] std::unique_ptr<ProcessLock> lock() const;
  /// Makes the directory and clears what a crash left unfinished; Error if it cannot. Call it with the lock held.
  void create() const;
  void write_config(const Experiment& experiment) const;
  void write_info(const nlohmann::json& info) const;
  /// Adds a checkpoint and, when it is safe on disk, removes all but the last `experiment.watch.keep` and the best. A
  /// checkpoint to which somebody added files stays.
  void save(int64_t step, const NamedTensors& state, const Space& space, const Experiment& experiment) const;
  /// Marks the checkpoint of a step as the best.
  void mark_best(int64_t step, double validation_loss) const;
  /// The lowest validation loss marked; infinity where there is none.
  double best_loss() const;
  /// The newest checkpoint's directory, if there is one.
  std::optional<std::filesystem::path> latest() const;
  /// The best one's, if it is there.
  std::optional<std::filesystem::path> best() const;
  /// Removes config, notes, metrics, pictures and checkpoints, and nothing else. Call it with the lock held.
  void remove() const;

 private:
  void prune(int64_t keep) const;

  std::filesystem::path path_;
  std::optional<DataFingerprint> data_;
};

/// A model read back from a checkpoint, ready to sample, with the config it was trained by.
struct LoadedRun {
  Experiment experiment;
  Model model;
  int64_t step;
  TimeDensity times;  ///< where the likelihood's integrand is spread along the path, as training learned it; else
                      ///< uniform
  std::optional<DataFingerprint> data;  ///< what it learned from, if the checkpoint says
};

/// Which checkpoint of a run.
enum class Checkpoint { last, best };

/// The directory of a checkpoint. InputError where the run has none, or none that is marked as the best.
std::filesystem::path find_checkpoint(const std::filesystem::path& run, Checkpoint which);

/// Loads a checkpoint of a run with its averaged weights. Everything is read from the checkpoint; the run's
/// config.toml, which may have been rewritten since, is not. InputError names the file and what is wrong with it.
/// `precision`, unless automatic, stands in for the config's net.precision.
LoadedRun load_run(const std::filesystem::path& path, torch::Device device, Checkpoint which = Checkpoint::last,
                   NetPrecision precision = NetPrecision::automatic);

/// The same of a run that was trained with a network of the program's own, which is given again, under the same name.
LoadedRun load_run(const std::filesystem::path& path, torch::Device device, const CustomField& custom,
                   Checkpoint which = Checkpoint::last, NetPrecision precision = NetPrecision::automatic);

/// Writes what sampling and scoring need of a run, the averaged weights and the law of times without the optimiser, as
/// a run of its own. `custom` is the network of a run that was trained with one of the program's own.
void export_run(const std::filesystem::path& from, const std::filesystem::path& to, Checkpoint which,
                const CustomField& custom = {});

/// How training is driven, beside the config.
struct TrainRunOptions {
  std::string device = "cpu";
  double max_seconds = 0.0;  ///< fit everything into this time; 0: as many steps as configured
  double started = 0.0;      ///< the now_seconds() that max_seconds counts from; 0: when train_run is called
  bool resume = false;       ///< continue the run in the directory
  std::string command{};     ///< kept in run.json
  std::shared_ptr<DataSource> source{};  ///< experiment.data, where it is open already or is the program's own
  TrainCallbacks callbacks{};            ///< what the program wants to be told and asked on the way
  CustomField field{};                   ///< a network of the program's own instead of experiment.net
};

/// How a training went.
struct TrainResult {
  Space space;            ///< of what was learned
  int64_t steps = 0;      ///< done in all
  int64_t new_steps = 0;  ///< done in this call
  bool finished = false;  ///< or else a signal came, or callbacks.stop said so
  int64_t n_items = 0;    ///< learned from; 0: drawn without end
  int64_t n_held_out = 0;
  double independent_nats;  ///< -log p that independent variables, each with its label frequencies, give a held-out
                            ///< item on average; NaN without any
  double uniform_nats;      ///< that equal shares of all labels give any item
  std::vector<ValidationPoint> validations{};  ///< made in this call, in their order
};

/// Trains an experiment into a directory: progress on talk(), metrics, checkpoints; SIGINT and SIGTERM save and stop,
/// unless callbacks.signals is false. With max_seconds the schedule follows the clock and ends with it, the last
/// validation and checkpoint included; InputError if there is no time for a sensible number of steps. The number of
/// steps it came to is in config.toml. Now and then (watch.every) the averaged weights are validated and, for images,
/// drawn from. A run whose steps are all done is left as it is, but for what it was kept from finishing.
TrainResult train_run(Experiment experiment, const RunDirectory& run, const TrainRunOptions& options);

/// "cpu", "cuda", "cuda:1" -> device; InputError where it is not there.
torch::Device parse_device(const std::string& name);

}  // namespace segre
