#include "segre/recipes/table_recipe.h"

#include <algorithm>
#include <cmath>

#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/net/mlp.h"
#include "segre/net/number_columns.h"
#include "segre/net/residual.h"
#include "segre/net/tree_fit.h"
#include "segre/recipes/pace.h"
#include "segre/recipes/race.h"
#include "segre/recipes/recipe_parts.h"
#include "segre/recipes/training_data.h"

namespace segre {
namespace {

// A joint or table this small gets a mixture of products, which costs one term per variable and class. With numbers
// of many levels it overfits: they need a network that knows that levels are ordered.
constexpr int64_t kFewVariables = 8;
bool is_few(const Space& space) { return space.n_variables() <= kFewVariables && !NumberColumns::any(space); }

// Tables and sequences of this many labels in all are too wide for dense layers.
constexpr int64_t kMostDense = 100'000;

// Few rows need more dropout, and a larger part of them to validate on.
constexpr double kLeastDropout = 0.1;
double dropout_for(int64_t n_items) {
  return n_items == 0 ? 0.0 : n_items < 2'000 ? 0.3 : n_items < 8'000 ? 0.2 : kLeastDropout;
}
double holdout_for(int64_t n_items) {
  constexpr double kWanted = 100.0;
  return n_items == 0 ? 0.05 : std::clamp(kWanted / static_cast<double>(n_items), 0.05, 0.2);
}

// Few rows have nothing to teach a wide network; a GPU is not busy with a narrow one.
int64_t width_for(int64_t n_items, torch::Device device) {
  if (n_items > 0 && n_items < 8'000) return n_items < 2'000 ? 128 : 256;
  return device.is_cpu() ? 512 : 768;
}

// Whether pairs of labels are few enough to be counted in a moment.
bool has_tree(const Space& space) {
  constexpr int64_t kLabels = 4096;
  constexpr int64_t kNumbers = 1 << 24;  // in the tables
  return space.n_coordinates() <= kLabels && space.n_variables() * space.max_labels() * space.max_labels() <= kNumbers;
}

// Small steps with large batches, for networks that learn slowly.
void train_gently(Experiment& e, int64_t n_items) {
  e.train.adam = {.beta2 = 0.999, .ema = 0.999, .clip = 1.0};
  e.train.batch = batch_for(n_items, 256);
  e.train.schedule = {.lr = 1e-3, .warmup = 500, .kind = ScheduleKind::cosine};
  e.train.steps = steps_for(n_items, 100, e.train.batch);
}

// "transformer with 4 layers of width 128 24.81 nats (15.0s)"
std::string describe(const Heat& heat) {
  return concat(heat.network, " ", plain_digits(heat.nats, 4), " nats (", format_seconds(heat.seconds), ")");
}

// Whether a transformer sees enough rows within the time limit to be worthwhile; gives the reason if it is not.
bool worth_attention(const RecipeTask& task, const Racer& transformer) {
  constexpr double kPasses = 20.0;      // over the data
  constexpr double kItems = 200'000.0;  // or this many items
  const auto n_items = static_cast<double>(task.source->n_items());
  const int64_t batch = transformer.experiment.train.batch;
  const double items = static_cast<double>(batch) * task.seconds / transformer.pace->seconds(batch);
  if (items >= (n_items == 0.0 ? kItems : std::min(kItems, kPasses * n_items))) return true;
  task.on_reason(
      concat("transformer skipped: it would see only ", plain_digits(items, 2), " rows within the time limit"));
  return false;
}

// Whether pairs of labels can be counted in a small part of the time, as there are messages along the tree to be sent
// as well, and the race is not all; gives the reason if they cannot.
bool counts_pairs(const RecipeTask& task) {
  constexpr double kSecondsPerPair = 1e-7;  // several passes over a table of pairs in float64
  constexpr double kShare = 0.05;
  const int64_t n_labels = task.source->space().n_coordinates();
  const double seconds = kSecondsPerPair * static_cast<double>(n_labels) * static_cast<double>(n_labels);
  if (n_labels <= kMostPaired && seconds <= kShare * task.seconds) return true;
  task.on_reason(concat("Chow-Liu tree skipped: counting its ", n_labels, " labels takes too long"));
  return false;
}

// The networks worth trying within the time limit.
std::vector<Racer> racers_for(const RecipeTask& task) {
  constexpr int64_t kFewRows = 5'000;      // simple models may win below
  constexpr double kAttentionShare = 2.0;  // a transformer learns more slowly and ends lower
  const Space& space = task.source->space();
  const int64_t n_items = task.source->n_items();
  const bool few_rows = n_items > 0 && n_items < kFewRows;
  const auto racer = [&](const char* kind, double share) {
    return Racer{changed(table_recipe(kind, space, n_items, task.device), task), share};
  };
  std::vector<Racer> racers;
  if (space.n_coordinates() <= kMostDense) racers.push_back(racer("residual", 1.0));
  Racer transformer = racer("transformer", kAttentionShare);
  if (!racers.empty())
    transformer.pace = measure_pace(transformer.experiment, *task.source, task.device, probe_seconds(task.seconds));
  if (racers.empty() || worth_attention(task, transformer)) racers.push_back(transformer);
  if (few_rows) racers.push_back(racer("latent_class", 1.0));
  // A single large network needs no race against the tree if there are many rows.
  if (racers.size() > 1 && counts_pairs(task)) racers.push_back(racer("tree", 0.0));
  return racers;
}

// Decides by held-out nats after a part of the time.
Choice decide(const RecipeTask& task) {
  constexpr double kRaceShare = 0.25;
  constexpr double kShortest = 20.0;  // seconds; with less, a race would show little and take too much
  const auto racers = racers_for(task);
  if (racers.size() == 1) {
    task.on_reason(describe_net(racers.front().experiment.net) +
                   ", the only one that suits the rows and the time limit");
    return {.experiment = racers.front().experiment, .pace = racers.front().pace};
  }
  // The recipes hold out the same rows.
  Choice choice{.data = open_training_data(racers.front().experiment, task.source)};
  const bool validated = choice.data->held_out.defined();
  if (task.seconds < kShortest || !validated) {
    choice.experiment = changed(recipe_for(task.source->space(), task.source->n_items(), task.device), task);
    task.on_reason(concat(describe_net(choice.experiment.net),
                          ", without a race: ", validated ? "the time limit is too short" : "no rows are held out"));
    return choice;
  }
  choice.heats = race(racers, *choice.data, task.device, kRaceShare * task.seconds, task.stop);
  const auto& heats = choice.heats;
  for (const Heat& heat : heats) task.on_reason("race: " + describe(heat));
  const size_t best = winner_of(heats);
  const bool is_fewest =
      std::all_of(heats.begin(), heats.end(), [&](const Heat& heat) { return !(heat.nats < heats[best].nats); });
  task.on_reason(concat(
      heats[best].network, " is chosen: ",
      is_fewest ? "it has the fewest nats on held-out rows" : "nothing is certainly better, and it has more to learn"));
  choice.experiment = racers[best].experiment;
  choice.pace = racers[best].pace;
  return choice;
}

// Whether the user's changes leave a model that accepts known labels, as the networks that race need.
bool fits_evidence(const RecipeTask& task) {
  const Experiment e = changed({}, task);
  return e.form == Form::evidence && e.train.objective == Objective::cross_entropy;
}

}  // namespace

// An Experiment's defaults are the recipe for a few variables, but for the evidence.
Experiment table_recipe(const std::string& kind, const Space& space, int64_t n_items, torch::Device device) {
  const bool few = is_few(space);
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
    e.sample.sampler = "early";  // what fewer evaluations than rk4's 20 cost: docs/results.md
    e.sample.steps = 8;
    e.sample.precision = SamplePrecision::trained;
    e.net.dropout = dropout_for(n_items);
    e.net.of<ResidualOptions>().width = width_for(n_items, device);
    e.net.of<ResidualOptions>().tree = n_items > 0 && has_tree(space);
    e.net.of<ResidualOptions>().columns = n_items > 0 && NumberColumns::any(space);
  }
  return e;
}

std::string table_kind(const Space& space, torch::Device device) {
  if (is_few(space)) return "latent_class";
  return device.is_cpu() && space.n_coordinates() <= kMostDense ? "residual" : "transformer";
}

Choice choose_table_recipe(const RecipeTask& task) {
  const Space& space = task.source->space();
  const int64_t n_items = task.source->n_items();
  const auto recipe = [&](const std::string& kind) -> Choice {
    return {.experiment = changed(table_recipe(kind, space, n_items, task.device), task)};
  };
  if (is_few(space)) {
    task.on_reason(concat("a mixture of products, as for all data of at most ", kFewVariables, " variables"));
    return recipe("latent_class");
  }
  if (!fits_evidence(task)) {
    task.on_reason("an MLP: the other networks need model.form = \"evidence\" and train.objective = \"cross_entropy\"");
    return recipe("mlp");
  }
  if (n_items > 0 && dropout_for(n_items) > kLeastDropout)
    task.on_reason(concat("only ", n_items, " rows: dropout ", dropout_for(n_items), ", and up to ",
                          plain_digits(100.0 * holdout_for(n_items), 2), "% held out"));
  if (task.seconds > 0.0) return decide(task);
  Choice choice = recipe(table_kind(space, task.device));
  task.on_reason(
      concat(describe_net(choice.experiment.net), ", the choice without a time limit (--max-time lets networks race)"));
  return choice;
}

}  // namespace segre
