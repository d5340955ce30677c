#include "segre/runs/train_plan.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/io/files.h"
#include "segre/recipes/pace.h"
#include "segre/runs/load_run.h"
#include "segre/runs/resume.h"
#include "segre/sources/source_kinds.h"

namespace segre {
namespace {

constexpr int64_t kMostTimedSteps = 100'000'000'000;  // under a time limit, below the maximum of train.steps

// What the user wants changed in a recipe: the config, then what overrides it.
class Wishes {
 public:
  // Reads the config once: it may be a pipe.
  explicit Wishes(const Request& request) : request_(request) {
    if (!request.config.empty()) text_ = read_file(request.config);
    asked_.net.kind.clear();
    read_config(asked_);
    names_network_ = !asked_.net.kind.empty();
    names_data_ = !asked_.data.empty();
    override_config(asked_);
  }

  void change(Experiment& experiment) const {
    read_config(experiment);
    override_config(experiment);
  }

  // A recipe's evidence is for models that can be given it; others have what the user asked for.
  void change_recipe(Experiment& recipe) const {
    change(recipe);
    const bool can_be_given = recipe.form == Form::evidence && recipe.train.objective == Objective::cross_entropy;
    if (!can_be_given) recipe.train.evidence.kind = asked_.train.evidence.kind;
  }

  // The changed defaults. net.kind is the one that was asked for; empty if none was.
  const Experiment& asked() const { return asked_; }
  // Whether the config itself names the network.
  bool config_names_network() const { return names_network_; }

 private:
  void read_config(Experiment& experiment) const {
    if (!request_.config.empty()) schema_of(experiment).read_text(text_, request_.config);
  }

  void override_config(Experiment& experiment) const {
    if (!request_.data.empty()) {
      experiment.data = request_.data;
      if (names_data_) experiment.validation.clear();  // it belongs to the config's own data
    }
    auto schema = schema_of(experiment);
    for (const auto& assignment : request_.set) {
      const std::string key = schema.set(assignment, request_.set_called);
      if (key == "train.steps") experiment.train.epochs = 0;  // it comes after the config's epochs
    }
  }

  const Request& request_;
  std::string text_;
  Experiment asked_;
  bool names_network_ = false;
  bool names_data_ = false;
};

// What is known before the data are open; locks the directory if it exists.
TrainPlan start_plan(const Request& request) {
  TrainPlan plan{.field = request.field,
                 .device = request.device,
                 .ranks = request.ranks,
                 .max_seconds = request.max_seconds,
                 .out = request.out};
  const auto start = torch::tensor({request.started > 0.0 ? request.started : now_seconds()}, torch::kFloat64);
  plan.ranks->broadcast(start);
  plan.started = start.item<double>();
  if (plan.ranks->is_first() && std::filesystem::exists(plan.out)) plan.lock = RunDirectory(plan.out).lock();
  return plan;
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
std::optional<CheckpointDescription> checkpoint_to_resume(const Request& request) {
  if (request.out.empty()) return std::nullopt;
  const auto latest =
      on_first(*request.ranks, [&] { return latest_to_resume(RunDirectory(request.out), request.resume); });
  if (latest.empty()) return std::nullopt;
  return read_checkpoint(latest);
}

void require_data(const Experiment& experiment) {
  if (experiment.data.empty())
    fail_input("nothing to learn: data.source is empty; 'segre train --data coupled --out run' is an example");
}

// The run's config, or its last checkpoint's if that file is gone.
Experiment asked_before(const RunDirectory& run, const CheckpointDescription& before) {
  Experiment experiment;
  if (std::filesystem::exists(run.config())) {
    schema_of(experiment).read_file(run.config());
    return experiment;
  }
  experiment = before.experiment;
  // A run with a time limit may exceed the steps in its config.
  experiment.train.steps = std::max(experiment.train.steps, before.step);
  return experiment;
}

Resolved resolve_resumed(const Request& request, const CheckpointDescription& before) {
  Resolved out{{.experiment = asked_before(RunDirectory(request.out), before)}, request.source};
  Wishes(request).change(out.choice.experiment);
  require_data(out.choice.experiment);
  return out;
}

// Rank 0 decides for everyone; the others open the same data.
Resolved agree(const Request& request, const std::optional<CheckpointDescription>& before) {
  if (request.experiment) return {{.experiment = *request.experiment}, request.source};
  Resolved out{};
  const auto config = on_first(*request.ranks, [&] {
    out = before ? resolve_resumed(request, *before) : resolve(request);
    return schema_of(out.choice.experiment).to_toml(/*with_help=*/false);
  });
  if (!request.ranks->is_first()) schema_of(out.choice.experiment).read_text(config, "rank 0");
  return out;
}

// All the data are read for it, which one rank does.
DataFingerprint agreed_fingerprint(Ranks& ranks, const std::function<DataFingerprint()>& take) {
  return DataFingerprint::from_json(nlohmann::json::parse(on_first(ranks, [&] { return take().to_json().dump(); })));
}

// Divides the data, unless the recipe was chosen with them, and compares them with those of a resumed run.
void divide_data(TrainPlan& plan, const Resolved& found) {
  const Experiment& e = plan.experiment;
  const auto source = found.source ? found.source : plan.before ? open_to_resume(*plan.before, e) : open_source(e.data);
  plan.data = found.choice.data ? *found.choice.data : open_training_data(e, source);
  plan.experiment.train.steps = total_steps(e.train, *plan.data.source);
  plan.experiment.train.epochs = 0;  // resolved
  plan.fingerprint = agreed_fingerprint(
      *plan.ranks, [&] { return fingerprint_of(*source, e.data, e.validation, plan.data.held_out); });
  if (!plan.before) return;
  require_enough_steps(plan.out, *plan.before, plan.experiment.train.steps);
  require_same_space(plan.out, *plan.before, source->space());
  require_same_data(plan.out, *plan.before, plan.experiment, plan.fingerprint);
}

// Refuses a time limit that allows next to no steps before taking any.
void require_enough_time(const TrainPlan& plan, const Pace& pace, double left) {
  constexpr double kFewestSteps = 10;
  const int64_t batch = plan.experiment.train.batch;
  const double step = pace.seconds(batch);
  if (const double needed = kFewestSteps * step / (1.0 - 2.0 * kWatchShare); needed > left)
    fail_input("the time limit is too short: a step of ", batch, " items takes about ", format_seconds(step),
               " here, and ", format_seconds(left), " are left for fewer than ", kFewestSteps, " of them; give ",
               format_seconds(std::ceil(5.0 * needed)), ", or a smaller net.* or train.batch");
}

// Measures the pace, unless the recipe was chosen by it. Returns the seconds left then. Rank 0 does so for everyone.
double find_pace(TrainPlan& plan, const std::optional<Pace>& known) {
  double left = plan.started + plan.max_seconds - now_seconds();
  Pace pace;
  if (plan.ranks->is_first()) {
    pace =
        known ? *known : measure_pace(plan.experiment, *plan.data.source, plan.device, probe_seconds(left), plan.field);
    // A network that is counted is complete before its first step.
    if (!is_counted(plan.experiment)) require_enough_time(plan, pace, left);
    left = plan.started + plan.max_seconds - now_seconds();
  }
  const auto numbers = torch::tensor({pace.step, pace.item, left}, torch::kFloat64);
  plan.ranks->broadcast(numbers);
  plan.length.pace = {numbers[0].item<double>(), numbers[1].item<double>()};
  return numbers[2].item<double>();
}

// Evaluations per validation: those of the resumed run, or as many as the training's length allows.
int64_t evaluations_of(const TrainPlan& plan, int64_t steps) {
  if (plan.experiment.watch.evaluations > 0) return plan.experiment.watch.evaluations;
  constexpr int64_t kBefore = 512;  // in runs that do not record it
  const int64_t before = plan.before ? plan.before->experiment.watch.evaluations : 0;
  if (plan.before) return before > 0 ? before : kBefore;
  return plan_watch(steps, plan.length.batch, plan.length.picture).evaluations;
}

// How many steps are to come, and how thoroughly to validate them.
void find_length(TrainPlan& plan, const std::optional<Pace>& known) {
  const TrainOptions& train = plan.experiment.train;
  const int64_t done = plan.before ? plan.before->step : 0;
  plan.length = {.steps = train.steps,
                 .expected = train.steps - done,
                 .most = train.steps,
                 .batch = train.batch,
                 .picture = picture_evaluations(plan.experiment, plan.data.source->space())};
  int64_t fitting = train.steps;
  if (plan.is_limited()) {
    const double left = find_pace(plan, known);
    fitting = plan.length.pace.steps_within(left, train.batch);
    // A network that is counted, not trained, needs no more steps than its config has.
    if (!is_counted(plan.experiment)) plan.length.most = kMostTimedSteps;
    plan.length.expected = std::min(plan.length.most - done, fitting);
  }
  plan.experiment.watch.evaluations = evaluations_of(plan, fitting);
}

}  // namespace

Resolved resolve(const Request& request) {
  const Wishes wishes(request);
  require_data(wishes.asked());
  const auto source = request.source ? request.source : open_source(wishes.asked().data);
  const auto change = [&](Experiment& recipe) { wishes.change_recipe(recipe); };
  if (request.field.make) {
    Experiment experiment = recipe_for(source->space(), source->n_items(), request.device);
    change(experiment);
    return {{.experiment = experiment}, source};
  }
  return {choose_recipe({.source = source,
                         .device = request.device,
                         .seconds = wishes.config_names_network() ? 0.0 : request.max_seconds,
                         .kind = wishes.asked().net.kind,
                         .change = change,
                         .on_reason = request.on_reason,
                         .stop = request.stop}),
          source};
}

TrainPlan plan_training(const Request& request) {
  TrainPlan plan = start_plan(request);
  plan.before = checkpoint_to_resume(request);
  const Resolved found = agree(request, plan.before);
  plan.experiment = found.choice.experiment;
  plan.reasons = found.choice.reasons;
  plan.heats = found.choice.heats;
  if (plan.field.make) use_custom_field(plan.experiment, plan.field);
  if (plan.before) require_same_config(plan.out, *plan.before, plan.experiment);
  divide_data(plan, found);
  find_length(plan, found.choice.pace);
  return plan;
}

}  // namespace segre
