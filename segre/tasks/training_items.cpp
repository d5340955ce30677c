#include "segre/tasks/training_items.h"

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/data/label_counts.h"
#include "segre/recipes/training_data.h"
#include "segre/sources/relabel.h"

namespace segre {
namespace {

constexpr int64_t kMostCounted = 100'000;    // maximum number of training items whose labels are counted
constexpr int64_t kEndlessCounted = 10'000;  // for an endless source

// The run's data, all of them, with its label numbers.
std::shared_ptr<DataSource> open_run_data(const LoadedRun& run) {
  return open_source_for(run.model.space(), run.experiment.data, "data.source = " + run.experiment.data);
}

// Whether data can be compared with those that the run learned from.
bool can_compare(const LoadedRun& run, const DataSource& data) {
  return run.data && run.data->n_items != 0 && data.n_items() != 0;
}

bool has_fingerprint_of(const LoadedRun& run, const DataSource& data) {
  return data.n_items() == run.data->n_items && fingerprint_of(data, run.experiment.data) == run.data->items;
}

// Whether these may be the data that the run learned from.
bool is_same_data(const LoadedRun& run, const DataSource& data) {
  return !can_compare(run, data) || has_fingerprint_of(run, data);
}

// The user's own training items.
std::shared_ptr<DataSource> open_named(const LoadedRun& run, const std::string& train, const std::string& what) {
  auto source = open_source_for(run.model.space(), train, what + " " + train);
  require_complete(*source, what + " " + train);
  return source;
}

// What `divide` makes of the run's data, which must be what they were.
template <class Divide>
auto with_run_data(const LoadedRun& run, const std::string& what, Divide&& divide) {
  try {
    const auto source = open_run_data(run);
    if (!is_same_data(run, *source))
      fail_input(run.experiment.data, " has changed since the run learned from it: it then had ", run.data->n_items,
                 " items and a different fingerprint");
    return divide(source);
  } catch (const InputError& error) {
    fail_input("the run's training data cannot be opened (", error.what(), "); give them with ", what, " SOURCE");
  }
}

std::shared_ptr<DataSource> learned_of(const LoadedRun& run, const std::shared_ptr<DataSource>& data) {
  auto source = learned_items(run.experiment, data);
  require_complete(*source, "training data");
  return source;
}

// The complete ones of held-out items, unless they are not what they were.
torch::Tensor usable(const LoadedRun& run, const DataSource& data, const torch::Tensor& held_out) {
  const Experiment& experiment = run.experiment;
  if (!held_out.defined()) return {};
  if (run.data && held_out_fingerprint(data, experiment.data, experiment.validation, held_out) != run.data->held_out)
    return {};
  const auto complete = held_out.index({(held_out >= 0).all(1)});
  return complete.size(0) > 0 ? complete : torch::Tensor();
}

RunItems divided(const LoadedRun& run, const std::shared_ptr<DataSource>& data) {
  TrainingData parts;
  try {
    parts = open_training_data(run.experiment, data);
  } catch (const InputError&) {  // the validation data may be gone
    return {learned_of(run, data)};
  }
  require_complete(*parts.source, "training data");
  return {parts.source, usable(run, *data, parts.held_out)};
}

}  // namespace

RunItems open_run_items(const LoadedRun& run, const std::string& train, const std::string& what) {
  if (!train.empty()) {
    auto named = open_named(run, train, what);
    if (can_compare(run, *named) && has_fingerprint_of(run, *named)) return divided(run, named);
    return {std::move(named)};
  }
  return with_run_data(run, what, [&](const auto& data) { return divided(run, data); });
}

RunItems open_run_items(const LoadedRun& run, std::shared_ptr<DataSource> data) {
  const auto source = relabel(run.model.space(), std::move(data), "training data");
  if (is_same_data(run, *source)) return divided(run, source);
  note("the training data in memory have changed since the model learned from them");
  return {learned_of(run, source)};
}

std::shared_ptr<DataSource> open_training_items(const LoadedRun& run, const std::string& train,
                                                const std::string& what) {
  if (!train.empty()) return open_named(run, train, what);
  return with_run_data(run, what, [&](const auto& data) { return learned_of(run, data); });
}

torch::Tensor count_training_labels(const DataSource& train) {
  return count_labels(train, train.n_items() == 0 ? kEndlessCounted : kMostCounted);
}

}  // namespace segre
