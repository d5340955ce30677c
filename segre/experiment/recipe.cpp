#include "segre/experiment/recipe.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/core/text.h"
#include "segre/experiment/pace.h"
#include "segre/experiment/race.h"
#include "segre/experiment/training_data.h"
#include "segre/net/latent_class.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/net/tree_fit.h"
#include "segre/net/unet.h"

namespace segre {
namespace {

// A joint or table this small gets a mixture of products, which costs one term per variable and class.
constexpr int64_t kFewVariables = 8;

// Full size is for a GPU, the smaller ones for a CPU and for short trainings.
struct UNetSize {
  int64_t channels;
  int64_t res_blocks;
  int64_t heads;
  int64_t attention_pixels;  // maximum number of pixels for attention, whose cost is quadratic in them
  double items;              // items that training must see for this size to pay off
};
constexpr UNetSize kFull{32, 2, 4, 1024, 60'000};
constexpr UNetSize kSmall{16, 1, 2, 256, 10'000};
constexpr UNetSize kSmallest{8, 1, 1, 256, 0};

UNetOptions unet_of(const UNetSize& size, const Space& space) {
  UNetOptions unet;
  const int64_t smallest = std::min(space.shape()[0], space.shape()[1]);
  const bool large = space.shape()[0] * space.shape()[1] > 64 * 64;
  unet.channels = large && size.channels == kFull.channels ? 2 * kFull.channels : size.channels;
  unet.res_blocks = size.res_blocks;
  unet.heads = size.heads;
  // Halve while the image allows it and stays at least four pixels high; twice the channels below full resolution.
  unet.channel_mult = {1};
  for (int64_t side = 2; space.shape()[0] % side == 0 && space.shape()[1] % side == 0 && smallest / side >= 4 &&
                         unet.channel_mult.size() < 5;
       side *= 2)
    unet.channel_mult.push_back(2);
  // With as many channels as groups, a norm removes whatever is constant over a channel, which is exactly what time
  // adds.
  if (unet.channel_mult.size() == 1) unet.channels = std::max(unet.channels, 2 * size.channels);
  for (size_t level = 0; level < unet.channel_mult.size(); ++level) {
    const int64_t height = space.shape()[0] >> level;
    const int64_t pixels = height * (space.shape()[1] >> level);
    if (pixels > 64 && pixels <= size.attention_pixels && level > 0) unet.attention_at.push_back(height);
  }
  return unet;
}

// A batch is a small part of the data, so that successive steps see different items.
int64_t batch_for(int64_t n_items, int64_t most) {
  constexpr int64_t kStepsPerEpoch = 4;
  constexpr int64_t kLeast = 16;
  if (n_items == 0) return most;
  return std::clamp(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n_items / kStepsPerEpoch + 1))),
                    std::min(kLeast, most), most);
}

int64_t steps_for(int64_t n_items, int64_t epochs, int64_t batch) {
  return n_items == 0 ? 20'000 : std::clamp<int64_t>(epochs * n_items / batch, 2'000, 50'000);
}

Experiment image_recipe(const Space& space, int64_t n_items, const UNetSize& size) {
  Experiment e;
  e.train.evidence.kind = EvidenceKind::any;
  e.train.adam = {.beta2 = 0.999, .ema = 0.999, .clip = 1.0};
  e.net.kind = "unet";
  e.net.of<UNetOptions>() = unet_of(size, space);
  e.train.batch = batch_for(n_items, space.n_variables() > 64 * 64 ? 16 : size.channels == kFull.channels ? 128 : 32);
  e.train.schedule = {.lr = size.channels == kFull.channels ? 1e-3 : 2e-3, .warmup = 500, .kind = ScheduleKind::cosine};
  e.sample.sampler = "ab2";
  e.sample.steps = 19;  // 20 evaluations: the knee of `segre samplers` on digits
  e.train.steps = steps_for(n_items, 50, e.train.batch);
  return e;
}

bool is_image(const Space& space) { return space.layout() == Layout::image && space.is_uniform(); }

double flops_of(const Experiment& e, const Space& space) {
  return cost_of(plan_unet(space, e.net.of<UNetOptions>())).training_flops;
}

constexpr double kMostEfficient = 4.0;  // maximum gain in FLOP/s of a larger network

// Adapts batch and weight average to the number of items that fit into the time.
void shorten(Experiment& e, const Pace& pace, double seconds) {
  constexpr int64_t kStepsWanted = 600;
  constexpr int64_t kFewestItems = 4;
  while (e.train.batch > kFewestItems && pace.steps_within(seconds, e.train.batch) < kStepsWanted) e.train.batch /= 2;
  const auto steps = static_cast<double>(std::max<int64_t>(1, pace.steps_within(seconds, e.train.batch)));
  e.train.adam.ema = std::min(e.train.adam.ema, 1.0 - 1.0 / std::max(10.0, 0.1 * steps));
}

// Tables and sequences of this many labels in all are too wide for dense layers.
constexpr int64_t kMostDense = 100'000;

// Few rows need more dropout, and a larger part of them to validate on.
double dropout_for(int64_t n_items) { return n_items == 0 ? 0.0 : n_items < 2'000 ? 0.3 : n_items < 8'000 ? 0.2 : 0.1; }
double holdout_for(int64_t n_items) {
  constexpr double kWanted = 100.0;
  return n_items == 0 ? 0.05 : std::clamp(kWanted / static_cast<double>(n_items), 0.05, 0.2);
}

// Small steps with large batches, for networks that learn slowly.
void train_gently(Experiment& e, int64_t n_items) {
  e.train.adam = {.beta2 = 0.999, .ema = 0.999, .clip = 1.0};
  e.train.batch = batch_for(n_items, 256);
  e.train.schedule = {.lr = 1e-3, .warmup = 500, .kind = ScheduleKind::cosine};
  e.train.steps = steps_for(n_items, 100, e.train.batch);
}

// For tables and sequences. An Experiment's defaults are the recipe for a few variables.
Experiment table_recipe(const std::string& kind, const Space& space, int64_t n_items, torch::Device device) {
  const bool few = space.n_variables() <= kFewVariables;
  Experiment e;
  e.train.evidence.kind = EvidenceKind::any;
  e.net.kind = kind;
  if (kind == "linear" || kind == "mlp") {
    const int64_t width = space.n_coordinates() <= 512 ? 256 : 512;
    e.net.of<MlpOptions>().hidden = {width, width};
    if (!few) train_gently(e, n_items);
    return e;
  }
  if (n_items > 0) {
    e.holdout = holdout_for(n_items);
    e.watch.use_best = true;
    e.watch.items = 2000;
    e.watch.patience = 8;
  }
  if (kind == "tree") {
    e.train.steps = 200;
    e.train.batch = batch_for(n_items, 256);
  } else if (kind == "latent_class") {
    if (few) return e;
    e.train.batch = batch_for(n_items, 256);
    e.train.schedule.lr = 0.02;
    e.train.steps = steps_for(n_items, 100, e.train.batch);
  } else {
    train_gently(e, n_items);
    e.net.dropout = dropout_for(n_items);
    e.net.of<ResidualOptions>().width = device.is_cpu() ? 512 : 768;
  }
  return e;
}

std::string kind_for(const Space& space, torch::Device device) {
  if (space.n_variables() <= kFewVariables) return "latent_class";
  return device.is_cpu() && space.n_coordinates() <= kMostDense ? "residual" : "transformer";
}

// "transformer with 4 layers of width 128: 24.81 nats (15 s)"
std::string describe(const Heat& heat) {
  return concat(heat.network, " ", plain_digits(heat.nats, 4), " nats (", format_seconds(heat.seconds), ")");
}

// The networks worth trying within the time, and why others are not.
std::vector<Racer> racers_for(const RecipeTask& task, double seconds) {
  constexpr int64_t kFewRows = 5'000;      // simple models may win below
  constexpr double kPasses = 20.0;         // over the data, for a transformer to pay off
  constexpr double kItems = 200'000.0;     // or this many items
  constexpr double kAttentionShare = 2.0;  // a transformer learns more slowly and ends lower
  const Space& space = task.source->space();
  const int64_t n_items = task.source->n_items();
  const auto recipe = [&](const char* kind) { return table_recipe(kind, space, n_items, task.device); };
  std::vector<Racer> racers;
  if (space.n_coordinates() <= kMostPaired / 4) racers.push_back({recipe("tree"), 0.0});
  if (n_items > 0 && n_items < kFewRows) racers.push_back({recipe("latent_class")});
  if (space.n_coordinates() <= kMostDense) racers.push_back({recipe("residual")});
  const Experiment transformer = recipe("transformer");
  const Pace pace = measure_pace(transformer, *task.source, task.device, probe_seconds(seconds));
  const double items =
      pace.item > 0.0 ? seconds / pace.seconds(transformer.train.batch) * static_cast<double>(transformer.train.batch)
                      : 0.0;
  const double wanted = n_items == 0 ? kItems : std::min(kItems, kPasses * static_cast<double>(n_items));
  if (items >= wanted || racers.empty()) {
    racers.push_back({transformer, kAttentionShare});
  } else {
    task.tell(concat("a transformer would see ", plain_digits(items, 2), " rows in the time, too few: left out"));
  }
  return racers;
}

// Decides by held-out nats after a part of the time.
Experiment decide(const RecipeTask& task) {
  constexpr double kRaceShare = 0.25;
  constexpr double kShortest = 20.0;  // seconds; with less, a race would say little and take too much
  const double seconds = task.seconds;
  auto racers = racers_for(task, seconds);
  for (Racer& racer : racers) task.apply(racer.experiment);
  if (racers.size() == 1) {
    task.tell(describe_net(racers.front().experiment.net) + ", the only network that fits");
    return racers.front().experiment;
  }
  const bool validated = open_training_data(racers.front().experiment, task.source).held_out.defined();
  if (seconds < kShortest || !validated) {
    const Experiment chosen = recipe_for(task.source->space(), task.source->n_items(), task.device);
    task.tell(concat(describe_net(chosen.net),
                     ", without a race: ", validated ? "the time is too short" : "no rows are held out"));
    return chosen;
  }
  const auto heats = race(racers, task.source, task.device, kRaceShare * seconds);
  size_t best = 0;
  for (size_t k = 0; k < heats.size(); ++k) {
    task.tell("race: " + describe(heats[k]));
    if (heats[k].nats < heats[best].nats || !std::isfinite(heats[best].nats)) best = k;
  }
  task.tell(concat(heats[best].network, " has the fewest nats on held-out rows and trains for the rest of the time"));
  return racers[best].experiment;
}

}  // namespace

Experiment recipe_for(const Space& space, int64_t n_items, torch::Device device) {
  if (is_image(space)) return image_recipe(space, n_items, device.is_cpu() ? kSmall : kFull);
  return table_recipe(kind_for(space, device), space, n_items, device);
}

Experiment choose_recipe(const RecipeTask& task) {
  const Space& space = task.source->space();
  const int64_t n_items = task.source->n_items();
  if (is_image(space) && (task.kind.empty() || task.kind == "unet"))
    return task.seconds > 0.0 ? fit_recipe(*task.source, task.device, task.seconds)
                              : recipe_for(space, n_items, task.device);
  if (!task.kind.empty()) return table_recipe(task.kind, space, n_items, task.device);
  if (space.n_variables() <= kFewVariables) {
    task.tell(concat("at most ", kFewVariables, " variables: a mixture of products"));
    return recipe_for(space, n_items, task.device);
  }
  if (n_items > 0 && dropout_for(n_items) > 0.1)
    task.tell(concat(n_items, " rows: dropout ", dropout_for(n_items), ", ",
                     plain_digits(100.0 * holdout_for(n_items), 2), "% held out"));
  if (task.seconds > 0.0) return decide(task);
  const Experiment chosen = recipe_for(space, n_items, task.device);
  task.tell(concat(describe_net(chosen.net), ", the choice without a time limit (--max-time lets networks race)"));
  return chosen;
}

Experiment fit_recipe(const DataSource& source, torch::Device device, double seconds) {
  const Space& space = source.space();
  const double patience = probe_seconds(seconds);
  Experiment chosen = image_recipe(space, source.n_items(), kSmallest);
  Pace pace = measure_pace(chosen, source, device, patience);
  for (const UNetSize& size : {kSmall, kFull}) {
    const Experiment larger = image_recipe(space, source.n_items(), size);
    // Do not even try a network that is far too large: a single step may take longer than the time left.
    const double least = pace.item * flops_of(larger, space) / flops_of(chosen, space) / kMostEfficient;
    if (seconds / least < size.items) break;
    const Pace measured = measure_pace(larger, source, device, patience);
    if (seconds / measured.item < size.items) break;
    chosen = larger;
    pace = measured;
  }
  shorten(chosen, pace, seconds);
  return chosen;
}

}  // namespace segre
