#pragma once

#include "segre/experiment/checkpoint.h"

namespace segre {

// Whether a run that is asked for now is the one that a checkpoint is of. What would make it another is refused with an
// InputError that starts with the run's directory and names every difference with its value now and then.

/// Compares the configs key by key: those that are Later::fixed must be the same.
void require_same_config(const std::filesystem::path& run, const CheckpointDescription& before, Experiment now);

/// The steps asked for must not be fewer than those done.
void require_enough_steps(const std::filesystem::path& run, const CheckpointDescription& before, int64_t steps);

/// Opens the data to go on with. A table is read as the checkpoint knows it, so that its columns may have moved and
/// others have come, unless an option that makes labels is another than it was: what that changes is for
/// require_same_space to say.
std::shared_ptr<DataSource> open_to_resume(const CheckpointDescription& before, const Experiment& now);

/// Compares the variables with their names and labels.
void require_same_space(const std::filesystem::path& run, const CheckpointDescription& before, const Space& now);

/// Compares what is learned from and what is held out, if the checkpoint says.
void require_same_data(const std::filesystem::path& run, const CheckpointDescription& before, const Experiment& asked,
                       const DataFingerprint& now);

}  // namespace segre
