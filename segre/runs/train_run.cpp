#include <torch/version.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "segre/core/device.h"
#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/core/parallel.h"
#include "segre/core/progress.h"
#include "segre/core/version.h"
#include "segre/data/label_counts.h"
#include "segre/ood/measures.h"
#include "segre/recipes/training_data.h"
#include "segre/runs/resume.h"
#include "segre/runs/run_directory.h"
#include "segre/runs/train_loop.h"
#include "segre/runs/train_run.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

// Validation works on a separate model with the same space, path and precision.
std::optional<Validation> make_validation(const Experiment& experiment, const TrainingData& data, torch::Device device,
                                          double t_max, const CustomField& custom) {
  if (!data.held_out.defined()) return std::nullopt;
  Model model = make_model(experiment, data.source->space(), device, custom);
  if (const auto type = training_type(experiment.net, device); type != torch::kFloat32)
    model.field().reduce_precision(type);
  return Validation(std::move(model), data.held_out, experiment.train.objective, t_max, experiment.watch.evaluations);
}

// The newest checkpoint; empty for a new run.
std::string latest_to_resume(const RunDirectory& run, bool resume) {
  const auto latest = run.latest();
  if (latest && !resume)
    fail_input(run.path().string(), ": already contains a run; resume it, or choose another directory");
  if (!latest && resume) fail_input(run.path().string(), ": has no checkpoint to resume from");
  return latest ? latest->string() : std::string();
}

// The checkpoint to resume from, as rank 0 finds it; none for a new run.
std::optional<CheckpointDescription> checkpoint_to_resume(const RunDirectory& run, bool resume, Ranks& ranks) {
  const auto latest = on_first(ranks, [&] { return latest_to_resume(run, resume); });
  if (latest.empty()) return std::nullopt;
  return read_checkpoint(latest);
}

std::shared_ptr<DataSource> open_data(const TrainRunOptions& options, const Experiment& experiment,
                                      const std::optional<CheckpointDescription>& before) {
  if (options.source) return options.source;
  return before ? open_to_resume(*before, experiment) : open_source(experiment.data);
}

// Comparisons that need the data to be open.
void require_same_training(const std::filesystem::path& run, const CheckpointDescription& before,
                           const Experiment& experiment, const Space& space, const DataFingerprint& data) {
  require_enough_steps(run, before, experiment.train.steps);
  require_same_space(run, before, space);
  require_same_data(run, before, experiment, data);
}

// Score of independent variables on the held-out items; NaN if there are none.
double independent_nats(const TrainingData& data) {
  if (!data.held_out.defined()) return std::numeric_limits<double>::quiet_NaN();
  const Space& space = data.source->space();
  // Number of values to count; generating items takes far longer than reading them from memory.
  constexpr int64_t kFound = 50'000'000;
  constexpr int64_t kGenerated = 5'000'000;
  constexpr int64_t kFewest = 200;  // items
  constexpr int64_t kMost = 100'000;
  const int64_t n = data.source->n_items();
  const int64_t most = std::clamp((n == 0 ? kGenerated : kFound) / space.n_variables(), kFewest, kMost);
  const auto counts = count_labels(*data.source, most);
  return simple_models(space, counts).front().of(data.held_out).mean().item<double>();
}

double uniform_nats(const Space& space) {
  double nats = 0.0;
  for (int64_t i = 0; i < space.n_variables(); ++i) nats += std::log(static_cast<double>(space.n_labels(i)));
  return nats;
}

TrainResult facts_of(const TrainingData& data) {
  return {.space = data.source->space(),
          .n_items = data.source->n_items(),
          .n_held_out = data.held_out.defined() ? data.held_out.size(0) : 0,
          .independent_nats = independent_nats(data),
          .uniform_nats = uniform_nats(data.source->space())};
}

// Rank 0's measurement for everyone.
Pace agreed_pace(Ranks& ranks, const std::function<Pace()>& measure) {
  const Pace mine = ranks.is_first() ? measure() : Pace();
  const auto numbers = torch::tensor({mine.step, mine.item}, torch::kFloat64);
  ranks.broadcast(numbers);
  return {numbers[0].item<double>(), numbers[1].item<double>()};
}

double agreed_start(const TrainRunOptions& options) {
  const auto start = torch::tensor({options.started > 0.0 ? options.started : now_seconds()}, torch::kFloat64);
  options.ranks->broadcast(start);
  return start.item<double>();
}

// Rejects a time limit that allows next to no steps before taking any.
Pace pace_within(const Experiment& experiment, const CustomField& custom, const DataSource& source,
                 torch::Device device, double left) {
  constexpr double kFewestSteps = 10;
  const Pace pace = measure_pace(experiment, source, device, probe_seconds(left), custom);
  if (is_counted(experiment)) return pace;  // it is complete before its first step
  const double step = pace.seconds(experiment.train.batch);
  if (const double needed = kFewestSteps * step / (1.0 - 2.0 * kWatchShare); needed > left)
    fail_input("the time limit is too short: a step of ", experiment.train.batch, " items takes about ",
               format_seconds(step), " here, and ", format_seconds(left), " are left for fewer than ", kFewestSteps,
               " of them; give ", format_seconds(std::ceil(5.0 * needed)), ", or a smaller net.* or train.batch");
  return pace;
}

// Evaluations per validation: those of the resumed run, or as many as the training's length allows.
int64_t resolve_evaluations(const Experiment& experiment, const std::optional<CheckpointDescription>& before,
                            const Space& space, double seconds, const Pace& pace) {
  if (experiment.watch.evaluations > 0) return experiment.watch.evaluations;
  constexpr int64_t kBefore = 512;  // in runs that do not record it
  if (before) return before->experiment.watch.evaluations > 0 ? before->experiment.watch.evaluations : kBefore;
  const int64_t batch = experiment.train.batch;
  const int64_t steps = seconds > 0.0 ? pace.steps_within(seconds, batch) : experiment.train.steps;
  return plan_watch(steps, batch, picture_evaluations(experiment, space)).evaluations;
}

void write_info(const RunDirectory& run, const Experiment& experiment, const TrainRunOptions& options,
                const Model& model) {
  run.write_info({{"command", options.command},
                  {"release", release()},
                  {"revision", revision()},
                  {"seed", experiment.seed},
                  {"device", options.device},
                  {"threads", n_threads()},
                  {"ranks", options.ranks->size()},
                  {"torch", TORCH_VERSION},
                  {"parameters", n_parameters(model.field())}});
}

// The run's directory, ready to be trained into.
void prepare(const RunDirectory& run, const Experiment& experiment, const TrainRunOptions& options, const Model& model,
             bool complete) {
  run.create();
  if (!complete || !std::filesystem::exists(run.config())) run.write_config(experiment);
  if (!complete) write_info(run, experiment, options, model);
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

// All the data are read for it, which one rank does.
DataFingerprint agreed_fingerprint(Ranks& ranks, const std::function<DataFingerprint()>& take) {
  return DataFingerprint::from_json(nlohmann::json::parse(on_first(ranks, [&] { return take().to_json().dump(); })));
}

}  // namespace

TrainResult train_run(Experiment experiment, const RunDirectory& directory, const TrainRunOptions& options) {
  if (options.field.make) use_custom_field(experiment, options.field);
  Ranks& ranks = *options.ranks;
  std::optional<StopRequest> stop;  // from the first step on; before, a signal may simply end the program
  TrainClock clock(std::make_shared<AgreedClock>(options.ranks, [&] { return stop && (*stop)(); }),
                   agreed_start(options), options.max_seconds);
  const torch::Device device = parse_device(options.device);
  std::unique_ptr<ProcessLock> lock;
  if (ranks.is_first() && std::filesystem::exists(directory.path())) lock = directory.lock();
  const auto before = checkpoint_to_resume(directory, options.resume, ranks);
  if (before) require_same_config(directory.path(), *before, experiment);
  const auto source = open_data(options, experiment, before);
  const TrainingData data = open_training_data(experiment, source);
  experiment.train.steps = total_steps(experiment.train, *data.source);
  experiment.train.epochs = 0;  // resolved
  const auto fingerprint = agreed_fingerprint(
      ranks, [&] { return fingerprint_of(*source, experiment.data, experiment.validation, data.held_out); });
  if (before) require_same_training(directory.path(), *before, experiment, source->space(), fingerprint);
  TrainResult result = facts_of(data);
  // A killed run still finishes the work after its last step, but nothing else changes.
  const bool complete = before && before->step == experiment.train.steps && !clock.limited();
  const Pace pace =
      clock.limited()
          ? agreed_pace(ranks,
                        [&] { return pace_within(experiment, options.field, *data.source, device, clock.left()); })
          : Pace();
  clock.clock().agree();
  experiment.watch.evaluations =
      resolve_evaluations(experiment, before, source->space(), clock.limited() ? clock.left() : 0.0, pace);
  RunDirectory run = directory;
  run.set_data(fingerprint);
  const Model model = make_model(experiment, data.source->space(), device, options.field);
  if (!before) model.field().fit(*data.source);
  Trainer trainer(model, *data.source, experiment.train, static_cast<uint64_t>(experiment.seed),
                  training_type(experiment.net, device), options.ranks);
  if (ranks.is_first() && !lock) {  // not earlier, so that invalid input leaves no directory behind
    lock = run.lock();
    if (run.latest()) fail(run.path().string(), ": another process wrote a checkpoint meanwhile; try again");
  }
  if (ranks.is_first()) note_holes_left_out(trainer, *data.source, model.field());
  NamedTensors state;
  if (before) {
    state = read_training_state(*before, trainer.state());
    trainer.load(state);
  }
  if (ranks.is_first()) prepare(run, experiment, options, model, complete);
  TrainLoop loop(experiment, run, trainer, make_validation(experiment, data, device, trainer.t_max(), options.field),
                 result.independent_nats, pace, clock, ranks.is_first() ? options.callbacks : TrainCallbacks());
  loop.load(state);
  if (before && before->step == before->experiment.train.steps && !complete) loop.renew_patience();
  if (options.callbacks.on_start && !complete && ranks.is_first())
    options.callbacks.on_start({experiment, source->space(), result.n_items, result.n_held_out,
                                n_parameters(model.field()), trainer.n_steps(), loop.expected_steps(),
                                options.max_seconds});
  stop.emplace(options.callbacks);
  result.steps = loop();
  result.finished = result.steps >= trainer.options().steps;
  result.new_steps = result.steps - (before ? before->step : 0);
  result.uses_best = experiment.watch.use_best;
  result.validations = loop.validations();
  return result;
}

}  // namespace segre
