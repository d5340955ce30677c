#include "segre/tasks/training_items.h"

#include "segre/core/error.h"
#include "segre/data/label_counts.h"
#include "segre/experiment/training_data.h"
#include "segre/sources/relabel.h"

namespace segre {
namespace {

constexpr int64_t kMostCounted = 100'000;    // maximum number of training items whose labels are counted
constexpr int64_t kEndlessCounted = 10'000;  // for an endless source

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
    source = open_learned_items(run.experiment, space);
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

torch::Tensor count_training_labels(const DataSource& train) {
  return count_labels(train, train.n_items() == 0 ? kEndlessCounted : kMostCounted);
}

}  // namespace segre
