#pragma once  // internal

#include "segre/runs/checkpoint.h"

namespace segre {

// Checks that a requested run is the one a checkpoint belongs to. Any difference that would make it another run is an
// InputError that starts with the run's directory and names both values of every difference.

/// Compares the configs key by key: Later::fixed keys must be equal.
void require_same_config(const std::filesystem::path& run, const CheckpointDescription& before, Experiment now);

/// The requested steps must not be fewer than those done.
void require_enough_steps(const std::filesystem::path& run, const CheckpointDescription& before, int64_t steps);

/// Opens the data to continue with. A table is read with the checkpoint's variables, so its columns may have moved and
/// new ones been added, unless an option that defines labels has changed: require_same_space then reports the
/// difference.
std::shared_ptr<DataSource> open_to_resume(const CheckpointDescription& before, const Experiment& now);

/// Compares the variables with their names and labels.
void require_same_space(const std::filesystem::path& run, const CheckpointDescription& before, const Space& now);

/// Compares the training and held-out items, if the checkpoint has their fingerprint.
void require_same_data(const std::filesystem::path& run, const CheckpointDescription& before, const Experiment& asked,
                       const DataFingerprint& now);

}  // namespace segre
