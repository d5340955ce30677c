#include "segre/runs/train_run.h"

#include <torch/version.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "segre/core/device.h"
#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/parallel.h"
#include "segre/core/version.h"
#include "segre/data/label_counts.h"
#include "segre/runs/plan_report.h"
#include "segre/runs/run_record.h"
#include "segre/train/train_loop.h"

namespace segre {
namespace {

// Validation works on a separate model with the same space, path and precision.
std::optional<Validation> make_validation(const TrainPlan& plan, double t_max) {
  if (!plan.data.held_out.defined()) return std::nullopt;
  const Experiment& e = plan.experiment;
  Model model = make_model(e, plan.data.source->space(), plan.device, plan.field);
  if (const auto type = training_type(e.net, plan.device); type != torch::kFloat32)
    model.field().reduce_precision(type);
  return Validation(std::move(model), plan.data.held_out, e.train.objective, t_max, e.watch.evaluations);
}

// Scores of independent columns on held-out items [K, n]: [K].
torch::Tensor independent_of(const TrainingData& data, const torch::Tensor& items) {
  const Space& space = data.source->space();
  // Number of values to count; generating items takes far longer than reading them from memory.
  constexpr int64_t kFound = 50'000'000;
  constexpr int64_t kGenerated = 5'000'000;
  constexpr int64_t kFewest = 200;  // items
  constexpr int64_t kMost = 100'000;
  const int64_t n = data.source->n_items();
  const int64_t most = std::clamp((n == 0 ? kGenerated : kFound) / space.n_variables(), kFewest, kMost);
  return independent_column_nats(*data.source, most, items);
}

double uniform_nats(const Space& space) {
  double nats = 0.0;
  for (int64_t i = 0; i < space.n_variables(); ++i) nats += std::log(static_cast<double>(space.n_labels(i)));
  return nats;
}

TrainResult facts_of(const TrainingData& data) {
  return {.space = data.source->space(),
          .n_items = data.source->n_items(),
          .n_held_out = data.n_held_out(),
          .independent_nats = std::numeric_limits<double>::quiet_NaN(),
          .uniform_nats = uniform_nats(data.source->space())};
}

// What the model is compared with, on the items that it is validated on.
void add_baselines(TrainResult& result, const TrainingData& data, const Validation& validation) {
  const auto items = validation.items();
  result.independent_items = independent_of(data, items);
  result.independent_nats = result.independent_items.mean().item<double>();
}

void write_info(const RunDirectory& run, const TrainPlan& plan, const std::string& command, const Model& model) {
  run.write_info({{"command", command},
                  {"release", release()},
                  {"revision", revision()},
                  {"seed", plan.experiment.seed},
                  {"device", plan.device.str()},
                  {"threads", n_threads()},
                  {"ranks", plan.ranks->size()},
                  {"torch", TORCH_VERSION},
                  {"parameters", n_parameters(model.field())}});
}

// The run's directory, ready to be trained into.
void prepare(const RunDirectory& run, const TrainPlan& plan, const std::string& command, const Model& model) {
  run.create();
  if (!plan.is_complete() || !std::filesystem::exists(run.config())) run.write_config(plan.experiment);
  if (!plan.is_complete()) write_info(run, plan, command, model);
}

// Locks the directory of a new run: not earlier, so that invalid input leaves no directory behind.
void lock_new(TrainPlan& plan, const RunDirectory& run) {
  if (plan.lock) return;
  plan.lock = run.lock();
  if (run.latest()) fail(run.path().string(), ": another process wrote a checkpoint meanwhile; try again");
}

// Says what holes mean to a training that neither fills nor counts them.
void note_holes_left_out(const Trainer& trainer, const DataSource& source, const Field& field) {
  if (!source.has_unknowns() || trainer.fills_holes() || field.parameters().empty()) return;
  const bool is_uniform = trainer.options().evidence.kind == EvidenceKind::uniform;
  note("missing cells are left out of this training instead of filled, ",
       !trainer.options().fill_holes ? "by train.fill_holes = false"
       : is_uniform                  ? "by train.evidence = \"uniform\""
                                     : "since items of a batch influence each other in this network",
       ": right only if they are missing completely at random, whatever the rest of their row",
       is_uniform && trainer.options().fill_holes ? "; train.evidence = \"any\" fills them" : "");
}

}  // namespace

TrainResult train_run(TrainPlan plan, const TrainCallbacks& callbacks, const std::string& command) {
  if (plan.out.empty()) fail_input("a training needs a directory for its run, its plan has none");
  const bool is_first = plan.ranks->is_first();
  std::optional<StopRequest> stop;  // from the first step on; before, a signal may simply end the program
  const TrainClock clock(std::make_shared<AgreedClock>(plan.ranks, [&] { return stop && (*stop)(); }), plan.started,
                         plan.max_seconds);
  TrainResult result = facts_of(plan.data);
  const RunDirectory run(plan.out);
  const Model model = make_model(plan.experiment, plan.data.source->space(), plan.device, plan.field);
  if (!plan.before) model.field().fit(*plan.data.source);
  Trainer trainer(model, *plan.data.source, plan.experiment.train, static_cast<uint64_t>(plan.experiment.seed),
                  training_type(plan.experiment.net, plan.device), plan.ranks);
  if (is_first) {
    lock_new(plan, run);
    note_holes_left_out(trainer, *plan.data.source, model.field());
  }
  NamedTensors state;
  if (plan.before) {
    state = read_training_state(*plan.before, trainer.state());
    trainer.load(state);
  }
  const bool complete = plan.is_complete();  // before its steps change
  if (is_first) prepare(run, plan, command, model);
  RunRecord record(plan, trainer.n_steps());
  const WatchOptions& watch = plan.experiment.watch;
  auto validation = make_validation(plan, trainer.t_max());
  if (validation) add_baselines(result, plan.data, *validation);
  TrainLoop loop(trainer, Timetable(clock, plan.length, watch),
                 Watcher(std::move(validation), watch.patience, result.independent_nats), record,
                 is_first ? callbacks : TrainCallbacks());
  loop.load(state);
  if (callbacks.on_start && !complete && is_first) callbacks.on_start(start_of(plan, n_parameters(model.field())));
  stop.emplace(callbacks);
  result.steps = loop();
  result.finished = result.steps >= trainer.options().steps;
  result.new_steps = result.steps - (plan.before ? plan.before->step : 0);
  result.uses_best = plan.experiment.watch.use_best;
  result.validations = loop.validations();
  if (result.n_items > 0)
    result.passes = static_cast<double>(result.steps) * static_cast<double>(trainer.options().batch) /
                    static_cast<double>(result.n_items);
  return result;
}

TrainResult train_run(const Experiment& experiment, const RunDirectory& run, const TrainRunOptions& options) {
  return train_run(plan_training({.source = options.source,
                                  .experiment = experiment,
                                  .field = options.field,
                                  .out = run.path(),
                                  .resume = options.resume,
                                  .device = parse_device(options.device),
                                  .max_seconds = options.max_seconds,
                                  .started = options.started,
                                  .ranks = options.ranks}),
                   options.callbacks, options.command);
}

}  // namespace segre
