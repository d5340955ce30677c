#include "segre/recipes/pace.h"

#include <algorithm>
#include <optional>

#include "segre/core/clock.h"
#include "segre/core/parallel.h"
#include "segre/net/net_kinds.h"

namespace segre {
namespace {

constexpr double kLeastShare = 0.3;  // minimum share of a step's time spent on its items

// The shortest step of `batch` items measured within the given time, excluding the first, which allocates and plans.
double shortest_step(const Experiment& experiment, const Model& model, const DataSource& source, int64_t batch,
                     double patience) {
  TrainOptions options = experiment.train;
  options.batch = batch;
  Trainer trainer(model, source, options, static_cast<uint64_t>(experiment.seed),
                  training_type(experiment.net, model.options().device()));
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

bool is_counted(const Experiment& experiment) {
  return experiment.custom_net.empty() && net_kind(experiment.net.kind).counted;
}

int64_t picture_evaluations(const Experiment& experiment, const Space& space) {
  return space.is(PartKind::image) ? experiment.watch.grid * (experiment.sample.steps + 1) : 0;
}

Pace measure_pace(const Experiment& experiment, const DataSource& source, torch::Device device, double patience,
                  const CustomField& custom) {
  constexpr int64_t kGrowth = 4;
  // What is counted decides how long a step takes, and may take long itself: once is enough.
  std::optional<Model> fitted;
  const auto model = [&] {
    if (fitted) return *fitted;
    const Model fresh = make_model(experiment, source.space(), device, custom);
    if (!is_counted(experiment)) return fresh;
    fresh.field().fit(source);
    fitted = fresh;
    return fresh;
  };
  // Start with one shard per thread, then grow up to the batch itself if that does not take too long.
  int64_t batch = std::min<int64_t>(experiment.train.batch, device.is_cpu() ? n_threads() : 8);
  double seconds = shortest_step(experiment, model(), source, batch, patience / 4.0);
  double slope = seconds / static_cast<double>(batch);
  while (batch < experiment.train.batch && kGrowth * seconds < patience) {
    const int64_t more = std::min(experiment.train.batch, kGrowth * batch);
    const double longer = shortest_step(experiment, model(), source, more, patience / 4.0);
    slope = (longer - seconds) / static_cast<double>(more - batch);
    batch = more;
    seconds = longer;
  }
  // Noise must not make items free, nor more expensive than the whole step.
  const double average = seconds / static_cast<double>(batch);
  Pace pace;
  pace.item = std::clamp(slope, kLeastShare * average, average);
  pace.step = seconds - pace.item * static_cast<double>(batch);
  return pace;
}

}  // namespace segre
