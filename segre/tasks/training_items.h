#pragma once  // internal

#include "segre/data/source.h"
#include "segre/runs/load_run.h"

namespace segre {

/// A run's data, divided as for its training, with its label numbers.
struct RunItems {
  std::shared_ptr<DataSource> learned;  ///< what training saw, complete
  /// Complete items that it did not learn from, [K, n] int64. Undefined if nothing was held out, or if the data in
  /// memory or the validation data are not what they were.
  torch::Tensor held_out{};
};

/// Opens the run's data or, if it is not empty, the source `train`: the run's data from another place, or else what
/// stands for all that training saw. Reads them once. InputError if they cannot be opened or are not what they were;
/// `what` names the user's option in the message.
RunItems open_run_items(const LoadedRun& run, const std::string& train = {}, const std::string& what = "train");

/// The same for the run's data, all of them, that the program still has open. A note if they are not what they were.
RunItems open_run_items(const LoadedRun& run, std::shared_ptr<DataSource> data);

/// RunItems::learned alone: validation data are not opened.
std::shared_ptr<DataSource> open_training_items(const LoadedRun& run, const std::string& train = {},
                                                const std::string& what = "train");

/// Counts of each variable's labels in the training items, or in 100,000 chosen among them: [S] int64.
torch::Tensor count_training_labels(const DataSource& train);

}  // namespace segre
