#pragma once  // internal

#include "segre/recipes/experiment.h"

namespace segre {

/// Training items and held-out items of a run, which are disjoint.
struct TrainingData {
  std::shared_ptr<DataSource> source;
  torch::Tensor held_out{};  ///< [K, n] int64; undefined if nothing is held out

  int64_t n_held_out() const { return held_out.defined() ? held_out.size(0) : 0; }
};

/// Opens an experiment's data. Held-out items are chosen from all of data.validation, with labels matched by name, or,
/// if that is empty, from the data. `source` is experiment.data if already open. InputError if the validation data have
/// a different space or a label that the data lack.
TrainingData open_training_data(const Experiment& experiment, std::shared_ptr<DataSource> source);

/// The run's training data, for everything after training: the items it learned from, without those held out for
/// validation, with the label numbers of the model's space. Does not open separate validation data, which need not
/// exist any longer.
std::shared_ptr<DataSource> open_learned_items(const Experiment& experiment, const Space& space);

/// The same for the run's data, already open and numbered.
std::shared_ptr<DataSource> learned_items(const Experiment& experiment, std::shared_ptr<DataSource> source);

}  // namespace segre
