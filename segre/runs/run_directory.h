#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "segre/io/lock.h"
#include "segre/runs/checkpoint.h"
#include "segre/runs/run_files.h"

namespace segre {

/// A directory that training writes and everything later reads:
///   config.toml                        the resolved config
///   run.json                           command, revision, device, seed
///   metrics.jsonl                      a line per logged step and per validation
///   samples/step-NNNNNNNNNNNNN.png     samples drawn during training (images only)
///   checkpoints/step-NNNNNNNNNNNNN/    model.safetensors (weights, averages, optimiser), model.json (config, space)
///   checkpoints/best.json              the checkpoint with the lowest validation loss
///   .lock                              the process that is writing, if any
/// Checkpoints appear whole or not at all; the last few and the best are kept. Everything else in the directory belongs
/// to the user: other names, however similar, are neither read nor removed.
class RunDirectory {
 public:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / run_files::kConfig; }
  std::filesystem::path metrics() const { return path_ / run_files::kMetrics; }

  std::filesystem::path info_file() const { return path_ / run_files::kInfo; }
  /// The file that names the best checkpoint and its validation loss.
  std::filesystem::path best_file() const;

  /// The picture of the samples drawn at a step.
  std::filesystem::path picture(int64_t step) const;

  /// Sets the fingerprint that checkpoints saved from here on contain.
  void set_data(DataFingerprint data) { data_ = std::move(data); }

  /// Creates the directory if needed and keeps other processes from writing to it while the lock lives; InputError if
  /// another process holds the lock. Reading needs no lock.
  [[nodiscard]] std::unique_ptr<ProcessLock> lock() const;
  /// Creates the directory and removes files that a crash left unfinished; Error on failure. Call it with the lock
  /// held.
  void create() const;
  void write_config(const Experiment& experiment) const;
  void write_info(const nlohmann::json& info) const;
  /// Adds a checkpoint and, once it is safely on disk, removes all but the last `experiment.watch.keep` and the best. A
  /// checkpoint with additional files stays.
  void save(int64_t step, const NamedTensors& state, const Space& space, const Experiment& experiment) const;
  /// Marks the checkpoint of a step as the best.
  void mark_best(int64_t step, double validation_loss) const;
  /// The validation loss of the best checkpoint; infinity if there is none.
  double best_loss() const;
  /// Directory of the newest checkpoint, if any.
  std::optional<std::filesystem::path> latest() const;
  /// Directory of the best checkpoint, if it exists.
  std::optional<std::filesystem::path> best() const;
  /// Removes config, run.json, metrics, pictures and checkpoints, and nothing else. Call it with the lock held.
  void remove() const;

 private:
  void prune(int64_t keep) const;

  std::filesystem::path path_;
  std::optional<DataFingerprint> data_;
};

}  // namespace segre
