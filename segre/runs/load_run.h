#pragma once

#include "segre/path/time_density.h"
#include "segre/ranks/ranks.h"
#include "segre/runs/run_directory.h"

namespace segre {

/// A model loaded from a checkpoint, ready to sample, with the config of its training. Threads may share it, unless
/// several ranks loaded it: see Ranks.
struct LoadedRun {
  Experiment experiment;
  Model model;
  int64_t step;
  TimeDensity times;  ///< distribution of the likelihood's integrand along the path, as learned in training; otherwise
                      ///< uniform
  std::optional<DataFingerprint> data;  ///< what it learned from, if the checkpoint contains it
  /// The processes that have loaded it and share the work of tasks: all of them call a task with the same arguments,
  /// and the answers are those of one.
  std::shared_ptr<Ranks> ranks = one_rank();
};

/// Which checkpoint of a run. `chosen` is the best if the run has watch.use_best and one is marked, else the
/// last.
enum class Checkpoint { chosen, last, best };

/// The directory of a checkpoint. InputError if the run has none, or none marked as the best.
std::filesystem::path find_checkpoint(const std::filesystem::path& run, Checkpoint which);

/// Loads a checkpoint of a run with its averaged weights. Reads only the checkpoint, not the run's config.toml, which
/// may have been rewritten since. InputError names the file and the problem. `precision`, unless automatic, replaces
/// the config's net.precision.
LoadedRun load_run(const std::filesystem::path& path, torch::Device device, Checkpoint which = Checkpoint::chosen,
                   NetPrecision precision = NetPrecision::automatic);

/// The same for a run trained with the program's own network, passed again under the same name.
LoadedRun load_run(const std::filesystem::path& path, torch::Device device, const CustomField& custom,
                   Checkpoint which = Checkpoint::chosen, NetPrecision precision = NetPrecision::automatic);

/// Writes the parts of a run needed for sampling and scoring, the averaged weights and the law of times without the
/// optimiser, as a separate run. `custom` is the network of a run trained with the program's own.
void export_run(const std::filesystem::path& from, const std::filesystem::path& to, Checkpoint which,
                const CustomField& custom = {});

}  // namespace segre
