#pragma once

#include "segre/experiment/run.h"

namespace segre::cli {

/// The items that training saw, in the numbering of the run's labels: those of `train` (--train), or the run's own
/// without what it held out. InputError asks for --train if the latter cannot be opened.
std::shared_ptr<DataSource> open_training_items(const std::string& train, const LoadedRun& run);

}  // namespace segre::cli
