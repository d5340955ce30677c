#include "segre/experiment/pace.h"

#include <algorithm>

#include "segre/core/parallel.h"
#include "segre/core/progress.h"

namespace segre {
namespace {

// The shortest step of `batch` items seen in so much time, the first left out: it allocates and plans.
double shortest_step(const Experiment& experiment, const DataSource& source, torch::Device device, int64_t batch,
                     double patience, const CustomField& custom) {
  TrainOptions options = experiment.train;
  options.batch = batch;
  Trainer trainer(make_model(experiment, source.space(), device, custom), source, options,
                  static_cast<uint64_t>(experiment.seed), compute_type(experiment.net, device));
  const double start = now_seconds();
  trainer.step();
  double shortest = std::numeric_limits<double>::infinity();
  do {
    const double before = now_seconds();
    trainer.step();
    shortest = std::min(shortest, now_seconds() - before);
  } while (now_seconds() - start < patience);
  return shortest;
}

}  // namespace

Pace measure_pace(const Experiment& experiment, const DataSource& source, torch::Device device, double patience,
                  const CustomField& custom) {
  // Every thread gets a shard.
  const int64_t few = device.is_cpu() ? n_threads() : 8;
  const int64_t many = 4 * few;
  const double quick = shortest_step(experiment, source, device, few, patience / 3.0, custom);
  const double slow = shortest_step(experiment, source, device, many, patience / 3.0, custom);
  Pace pace;
  pace.item = std::max(slow - quick, 0.1 * slow) / static_cast<double>(many - few);
  pace.step = std::max(0.0, quick - pace.item * static_cast<double>(few));
  return pace;
}

}  // namespace segre
