#pragma once

#include <filesystem>
#include <optional>

#include "segre/experiment/data_fingerprint.h"
#include "segre/experiment/experiment.h"
#include "segre/io/safetensors.h"

namespace segre {

/// What a checkpoint says about itself in model.json: all that makes its weights a model. Nothing else is asked, so a
/// config.toml beside it may have been rewritten or be gone.
struct CheckpointDescription {
  std::filesystem::path path;  ///< checkpoints/step-NNNNNNNNNNNNN of a run
  int64_t step;
  Experiment experiment;
  Space space;
  std::optional<DataFingerprint> data;  ///< what it learned from; those of release 0.1 do not say

  /// The files it is made of.
  std::filesystem::path description_file() const { return path / "model.json"; }
  std::filesystem::path tensors_file() const { return path / "model.safetensors"; }
};

/// The number of the step in a checkpoint directory's name; nothing where it is not one.
std::optional<int64_t> step_in_name(const std::filesystem::path& checkpoint);

/// Writes model.json's contents.
nlohmann::json describe_checkpoint(int64_t step, const Space& space, const Experiment& experiment,
                                   const std::optional<DataFingerprint>& data);

/// Reads model.json. InputError names the file and what is wrong with it: not JSON, another format, something missing
/// or of the wrong type, a step other than the directory's, a config or a space that cannot be.
CheckpointDescription read_checkpoint(const std::filesystem::path& checkpoint);

/// Builds the model of a description with fresh weights, `custom` as make_model(Experiment, ...). InputError names
/// model.json where no such model can be.
Model make_model(const CheckpointDescription& description, torch::Device device, const CustomField& custom = {});

/// Reads the tensors for sampling and scoring: the weights that are used (the averaged ones, unless train.ema is 0) and
/// the network's buffers must be there; what else training keeps may be. InputError names the file and the first tensor
/// that is missing, unknown, of another shape or type than the model's, or not finite.
NamedTensors read_weights(const CheckpointDescription& description, const Field& field);

/// Reads the tensors for training on: all that `like`, a fresh Trainer::state(), has must be there. InputError
/// likewise.
NamedTensors read_training_state(const CheckpointDescription& description, const NamedTensors& like);

}  // namespace segre
