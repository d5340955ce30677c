#pragma once

#include "segre/experiment/experiment.h"

namespace segre {

/// What a run learns from and what it is validated on; the two share no items.
struct TrainingData {
  std::shared_ptr<DataSource> source;
  torch::Tensor held_out;  ///< [K, n] int64; undefined where there is nothing to hold out
};

/// Opens an experiment's data: items of data.validation, chosen from all of it, their labels matched by name, or, where
/// that is empty, some of the data's own, are held out. `source` is experiment.data where it is open already.
/// InputError where validation data are of another space or have a label that the data lack.
TrainingData open_training_data(const Experiment& experiment, std::shared_ptr<DataSource> source);

/// What "the run's training data" are to everything that comes after the training: the items it learned from, without
/// those held out for validation, in the numbering of the model's space. Validation data of their own are not opened,
/// so they need not exist any more.
std::shared_ptr<DataSource> open_learned_items(const Experiment& experiment, const Space& space);

}  // namespace segre
