#include "cli/training_items.h"

#include "segre/core/error.h"
#include "segre/data/relabel.h"
#include "segre/experiment/training_data.h"

namespace segre::cli {

std::shared_ptr<DataSource> open_training_items(const std::string& train, const LoadedRun& run) {
  const Space& space = run.model.space();
  if (!train.empty()) return open_source_for(space, train, "--train " + train);
  try {
    return open_learned_items(run.experiment, space);
  } catch (const InputError& error) {
    fail_input("the run's training data cannot be opened (", error.what(), "); give them with --train SOURCE");
  }
}

}  // namespace segre::cli
