#include "segre/recipes/race.h"

#include <algorithm>
#include <cmath>

#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/work.h"
#include "segre/likelihood/free_bound.h"

namespace segre {
namespace {

constexpr int64_t kTimes = 16;      // evaluations per held-out item
constexpr int64_t kLookEvery = 16;  // steps between looks at the clock

// Takes steps until the time is up, with a schedule that ends then. Returns their number.
int64_t train_for(Trainer& trainer, double seconds, const std::function<bool()>& stop) {
  const double start = now_seconds();
  trainer.step();  // allocates and plans
  const double begin = now_seconds();
  for (int64_t steps = 1;; ++steps) {
    const double used = now_seconds() - begin;
    const double left = seconds - (now_seconds() - start);
    if (left <= 0.0) return steps;
    if (stop && stop()) throw Interrupted();
    if (steps % kLookEvery == 0) trainer.take_losses();  // also waits for the device
    const double fitting = steps > 1 ? left / std::max(1e-9, used / static_cast<double>(steps - 1)) : 1e6;
    trainer.set_total_steps(steps + std::max<int64_t>(1, static_cast<int64_t>(std::min(fitting, 1e9))));
    trainer.advance();
  }
}

Heat run(const Racer& racer, const TrainingData& data, torch::Device device, double seconds,
         const std::function<bool()>& stop) {
  Experiment e = racer.experiment;
  e.train.epochs = 0;
  const double start = now_seconds();
  const Model model = make_model(e, data.source->space(), device);
  model.field().fit(*data.source);
  const auto type = training_type(e.net, device);
  Trainer trainer(model, *data.source, e.train, static_cast<uint64_t>(e.seed), type);
  Heat heat{.network = describe_net(e.net)};
  if (!model.field().parameters().empty()) heat.steps = train_for(trainer, seconds, stop);
  const Model averaged = make_model(e, data.source->space(), device);
  const auto state = trainer.state();
  load_weights(averaged.field(), state, /*averaged=*/true);
  if (type != torch::kFloat32) averaged.field().reduce_precision(type);
  const FreeBound bound(flow_of(averaged), TimeLaw::spread(state, trainer.t_max()), {.times = kTimes});
  const ItemScores scores = bound(data.held_out);
  heat.of_items = -scores.log_p;
  heat.nats = heat.of_items.mean().item<double>();
  heat.error =
      scores.std_error.square().mean().sqrt().item<double>() / std::sqrt(static_cast<double>(data.held_out.size(0)));
  heat.seconds = now_seconds() - start;
  return heat;
}

}  // namespace

std::vector<Heat> race(const std::vector<Racer>& racers, const TrainingData& data, torch::Device device, double seconds,
                       const std::function<bool()>& stop) {
  if (!data.held_out.defined()) fail("a race needs held-out items");
  double shares = 0.0;
  for (const Racer& racer : racers) shares += racer.share;
  std::vector<Heat> heats;
  for (const Racer& racer : racers) heats.push_back(run(racer, data, device, seconds * racer.share / shares, stop));
  return heats;
}

size_t winner_of(const std::vector<Heat>& heats) {
  constexpr double kErrors = 2.0;
  const auto best_of = [&](const auto& takes_part) {
    size_t best = heats.size();
    for (size_t k = 0; k < heats.size(); ++k) {
      if (!takes_part(heats[k])) continue;
      if (best == heats.size() || heats[k].nats < heats[best].nats || !std::isfinite(heats[best].nats)) best = k;
    }
    return best;
  };
  const size_t best = best_of([](const Heat&) { return true; });
  const size_t learner = best_of([](const Heat& heat) { return heat.steps > 0; });
  if (heats[best].steps > 0 || learner == heats.size() || !std::isfinite(heats[learner].nats)) return best;
  const auto gain = heats[learner].of_items - heats[best].of_items;
  const double error = gain.std().item<double>() / std::sqrt(static_cast<double>(gain.numel()));
  return gain.mean().item<double>() >= kErrors * error ? best : learner;
}

}  // namespace segre
