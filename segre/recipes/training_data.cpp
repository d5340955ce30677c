#include "segre/recipes/training_data.h"

#include "segre/core/error.h"
#include "segre/core/utf8.h"
#include "segre/data/split.h"
#include "segre/io/mapped_rows.h"
#include "segre/sources/relabel.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

// With fewer items, validation would show little and training would miss them.
constexpr int64_t kFewestHeldOut = 8;

// A run stores the names of its sources in UTF-8 files: check them before training, not when saving.
void check_name(const char* key, const std::string& name) {
  if (find_invalid_utf8(name) != std::string::npos)
    fail_input(key, " = ", printable(name), ": is not UTF-8, as the config that a run keeps must be; rename the file");
}

// Splits the items of a dataset into training and held-out ones.
TrainingData hold_out(std::shared_ptr<DataSource> source, const Experiment& experiment) {
  const auto n = static_cast<double>(source->n_items());
  const int64_t count = std::min(experiment.watch.items, static_cast<int64_t>(experiment.holdout * n));
  if (count < kFewestHeldOut) return {std::move(source), {}};
  // What may not fit into memory is not copied.
  if (is_mapped(source->dataset()->labels) && count < source->n_items()) {
    const auto rows = chosen_rows(source->n_items(), count);
    auto held_out = source->take(rows);
    return {make_rest_source(std::move(source), rows), std::move(held_out)};
  }
  auto [rest, held_out] = split_off(*source->dataset(), count);
  return {make_dataset_source(std::move(rest)), held_out.labels.to(torch::kInt64)};
}

}  // namespace

TrainingData open_training_data(const Experiment& experiment, std::shared_ptr<DataSource> source) {
  check_name("data.source", experiment.data);
  check_name("data.validation", experiment.validation);
  if (!source) source = open_source(experiment.data);
  if (experiment.validation.empty() && source->dataset() != nullptr) return hold_out(std::move(source), experiment);
  // An endless source loses nothing: these items come from a different stream than those of training.
  if (experiment.validation.empty()) return {source, chosen_items(*source, experiment.watch.items)};
  const auto other =
      open_source_for(source->space(), experiment.validation, "data.validation = " + experiment.validation);
  return {source, chosen_items(*other, experiment.watch.items)};
}

std::shared_ptr<DataSource> open_learned_items(const Experiment& experiment, const Space& space) {
  return learned_items(experiment, open_source_for(space, experiment.data, "data.source = " + experiment.data));
}

std::shared_ptr<DataSource> learned_items(const Experiment& experiment, std::shared_ptr<DataSource> source) {
  if (!experiment.validation.empty() || source->dataset() == nullptr) return source;
  return hold_out(std::move(source), experiment).source;
}

}  // namespace segre
