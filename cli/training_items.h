#pragma once

#include "segre/experiment/run.h"

namespace segre::cli {

/// The items that training saw, in the numbering of the run's labels: those of `train` (--train), or the run's own
/// without what it held out. InputError asks for --train if the latter cannot be opened.
std::shared_ptr<DataSource> open_training_items(const std::string& train, const LoadedRun& run);

/// How often each variable has each label in the training items, or in 100,000 chosen from all of them: [S] int64.
torch::Tensor count_training_labels(const DataSource& train);

}  // namespace segre::cli
