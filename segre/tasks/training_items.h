#pragma once

#include "segre/data/source.h"
#include "segre/experiment/load_run.h"

namespace segre {

/// The items that training saw, with the run's label numbers: those of the source `train` or, if it is empty, the run's
/// own without the held-out ones. InputError if they cannot be opened or are not what they were; `what` names the
/// user's option in the message.
std::shared_ptr<DataSource> open_training_items(const LoadedRun& run, const std::string& train = {},
                                                const std::string& what = "train");

/// The same for the run's data, all of them, that the program still has open.
std::shared_ptr<DataSource> open_training_items(const LoadedRun& run, std::shared_ptr<DataSource> data);

/// The run's complete held-out items with its label numbers, [K, n] int64: ordinary items that it did not learn from.
/// `data` are the run's data, if the program still has them open. Undefined if nothing was held out, or if the data or
/// the validation data are not what they were.
torch::Tensor open_held_out_items(const LoadedRun& run, std::shared_ptr<DataSource> data = nullptr);

/// Counts of each variable's labels in the training items, or in 100,000 chosen among them: [S] int64.
torch::Tensor count_training_labels(const DataSource& train);

}  // namespace segre
