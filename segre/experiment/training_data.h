#pragma once

#include "segre/experiment/experiment.h"

namespace segre {

/// What a run learns from and what it is validated on; the two share no items.
struct TrainingData {
  std::shared_ptr<DataSource> source;
  torch::Tensor held_out;  ///< [K, n] int64; undefined where there is nothing to hold out
};

/// Opens an experiment's data: items of data.validation or, where that is empty, some of the data's own, are held out.
/// `source` is experiment.data where it is open already. InputError where validation data are of another space.
TrainingData open_training_data(const Experiment& experiment, std::shared_ptr<DataSource> source);

}  // namespace segre
