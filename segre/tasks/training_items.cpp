#include "segre/tasks/training_items.h"

#include "segre/core/error.h"
#include "segre/data/label_counts.h"
#include "segre/experiment/training_data.h"
#include "segre/sources/relabel.h"

namespace segre {
namespace {

constexpr int64_t kMostCounted = 100'000;    // maximum number of training items whose labels are counted
constexpr int64_t kEndlessCounted = 10'000;  // for an endless source

// The run's data, all of them, with its label numbers.
std::shared_ptr<DataSource> open_run_data(const LoadedRun& run) {
  return open_source_for(run.model.space(), run.experiment.data, "data.source = " + run.experiment.data);
}

// Whether these are the data that the run learned from; true if the checkpoint does not say.
bool is_same_data(const LoadedRun& run, const DataSource& data) {
  if (!run.data || run.data->n_items == 0 || data.n_items() == 0) return true;
  return data.n_items() == run.data->n_items && fingerprint_of(data, run.experiment.data) == run.data->items;
}

}  // namespace

std::shared_ptr<DataSource> open_training_items(const LoadedRun& run, const std::string& train,
                                                const std::string& what) {
  const Space& space = run.model.space();
  std::shared_ptr<DataSource> source;
  if (!train.empty()) {
    source = open_source_for(space, train, what + " " + train);
    require_complete(*source, what + " " + train);
    return source;
  }
  try {
    source = open_run_data(run);
    if (!is_same_data(run, *source))
      fail_input(run.experiment.data, " holds something else than when the run learned from it, ", run.data->n_items,
                 " items with another fingerprint");
    source = learned_items(run.experiment, source);
    require_complete(*source, "training data");
    return source;
  } catch (const InputError& error) {
    fail_input("the run's training data cannot be opened (", error.what(), "); give them with ", what, " SOURCE");
  }
}

std::shared_ptr<DataSource> open_training_items(const LoadedRun& run, std::shared_ptr<DataSource> data) {
  auto source = learned_items(run.experiment, relabel(run.model.space(), std::move(data), "training data"));
  require_complete(*source, "training data");
  return source;
}

torch::Tensor open_held_out_items(const LoadedRun& run, std::shared_ptr<DataSource> data) {
  try {
    const auto source = data ? relabel(run.model.space(), std::move(data), "training data") : open_run_data(run);
    if (!is_same_data(run, *source)) return {};
    const Experiment& experiment = run.experiment;
    const auto held_out = open_training_data(experiment, source).held_out;
    if (!held_out.defined()) return {};
    const auto now = fingerprint_of(*source, experiment.data, experiment.validation, held_out);
    if (run.data && now.held_out != run.data->held_out) return {};
    const auto complete = held_out.index({(held_out >= 0).all(1)});
    return complete.size(0) > 0 ? complete : torch::Tensor();
  } catch (const InputError&) {  // the validation data need not exist any more
    return {};
  }
}

torch::Tensor count_training_labels(const DataSource& train) {
  return count_labels(train, train.n_items() == 0 ? kEndlessCounted : kMostCounted);
}

}  // namespace segre
