#pragma once  // internal

#include <filesystem>
#include <optional>

#include "segre/io/safetensors.h"
#include "segre/recipes/experiment.h"
#include "segre/runs/data_fingerprint.h"
#include "segre/runs/run_files.h"

namespace segre {

/// The contents of a checkpoint's model.json: everything that turns its weights into a model. Nothing else is
/// consulted, so the run's config.toml may have been rewritten or deleted.
struct CheckpointDescription {
  std::filesystem::path path;  ///< checkpoints/step-NNNNNNNNNNNNN of a run
  int64_t step;
  Experiment experiment;
  Space space;
  std::optional<DataFingerprint> data;  ///< what it learned from; unset for those older than release 0.1.0

  /// The files it is made of.
  std::filesystem::path description_file() const { return path / run_files::kDescription; }
  std::filesystem::path tensors_file() const { return path / run_files::kTensors; }
};

/// Writes model.json's contents.
nlohmann::json describe_checkpoint(int64_t step, const Space& space, const Experiment& experiment,
                                   const std::optional<DataFingerprint>& data);

/// Reads model.json. InputError names the file and the problem: not JSON, a different format, a missing entry or one of
/// the wrong type, a step that differs from the directory's, an invalid config or space.
CheckpointDescription read_checkpoint(const std::filesystem::path& checkpoint);

/// Builds the model of a description with fresh weights; `custom` as in make_model(Experiment, ...). InputError names
/// model.json if the model cannot be built.
Model make_model(const CheckpointDescription& description, torch::Device device, const CustomField& custom = {});

/// Reads the tensors for sampling and scoring: the weights in use (the averaged ones, unless train.ema is 0) and the
/// network's buffers are required, the other tensors of training optional. InputError names the file and the first
/// tensor that is missing, unknown, not finite, or differs from the model's in shape or type.
NamedTensors read_weights(const CheckpointDescription& description, const Field& field);

/// Reads the tensors for resuming training: all those of `like`, a fresh Trainer::state(), are required. InputError
/// likewise.
NamedTensors read_training_state(const CheckpointDescription& description, const NamedTensors& like);

}  // namespace segre
