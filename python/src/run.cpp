// Trained models: training, loading, and the tasks of the command line.

#include "segre/runs/load_run.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "fields.h"
#include "labels.h"
#include "segre/core/clock.h"
#include "segre/core/device.h"
#include "segre/core/progress.h"
#include "segre/ood/outliers.h"
#include "segre/runs/plan_report.h"
#include "segre/runs/train_display.h"
#include "segre/runs/train_run.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/complete_items.h"
#include "segre/tasks/given.h"
#include "segre/tasks/rank_outliers.h"
#include "segre/tasks/sample_run.h"
#include "segre/tasks/score.h"
#include "segre/tasks/training_items.h"
#include "work.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace segre::python {
namespace {

using Set = std::vector<std::string>;
using SharedSource = std::shared_ptr<DataSource>;

// What fit() requests.
struct TrainRequest {
  SharedSource source;  // nullptr: opened by its name
  std::string data;     // its name
  std::string config;
  Set set;
  std::string device;
  std::string max_time;
  std::string out{};     // empty: nothing is written
  std::string called{};  // what messages call it
  bool resume = false;
  bool show;
  std::optional<TorchModule> module;  // a network of torch instead of one of ours
};

Request request_of(const TrainRequest& asked, double started) {
  Request request{.config = asked.config,
                  .data = asked.data,
                  .source = asked.source,
                  .set = asked.set,
                  .set_called = "config",
                  .out = asked.out,
                  .resume = asked.resume,
                  .device = parse_device(asked.device),
                  .started = started,
                  .stop = interrupted};
  if (!asked.max_time.empty()) request.max_seconds = parse_duration("max_time", asked.max_time);
  if (asked.module) request.field = custom_field(*asked.module);
  if (asked.show) request.on_reason = print_recipe;
  return request;
}

TrainResult train(const TrainRequest& asked) {
  const double start = now_seconds();
  TrainPlan plan = plan_training(request_of(asked, start));
  TrainDisplay display;
  TrainCallbacks callbacks;
  if (asked.show) callbacks = display.callbacks();
  callbacks.stop = interrupted;
  const TrainResult result = train_run(std::move(plan), callbacks, "segre.fit");
  display.clear();
  if (asked.show) print_end(result, asked.called, now_seconds() - start);
  return result;
}

// What train() would do, as JSON.
std::string plan(const TrainRequest& asked) { return to_json(plan_training(request_of(asked, now_seconds()))).dump(); }

LoadedRun load(const std::string& path, const std::string& device, const std::string& checkpoint, bool full_precision,
               const std::optional<TorchModule>& module) {
  const auto which = checkpoint.empty()     ? Checkpoint::chosen
                     : checkpoint == "last" ? Checkpoint::last
                     : checkpoint == "best" ? Checkpoint::best
                                            : throw InputError("checkpoint " + checkpoint + ": expected last or best");
  const auto precision = full_precision ? NetPrecision::float32 : NetPrecision::automatic;
  if (module) return load_run(path, parse_device(device), custom_field(*module), which, precision);
  return load_run(path, parse_device(device), which, precision);
}

SampleOptions sample_options(const LoadedRun& run, const Set& set) {
  Experiment experiment = run.experiment;
  set_sample_keys(experiment, set, "config");
  return experiment.sample;
}

torch::Tensor sample(const LoadedRun& run, int64_t count, uint64_t seed, const Set& set,
                     const std::optional<torch::Tensor>& given) {
  const Space& space = run.model.space();
  auto all = torch::empty({count, space.n_variables()}, label_type(space));
  const auto use = [&](const torch::Tensor& labels, int64_t first) {
    all.slice(0, first, first + labels.size(0)).copy_(labels);
  };
  Job job;
  sample_run(run, sample_options(run, set), seed, count, use, job.callbacks(),
             given ? checked_labels(space, *given, Unknowns::allow) : torch::Tensor());
  return all;
}

// How to score; `share`: the error is a share of the nats.
struct ScoreRequest {
  std::string bound;
  std::optional<double> error;
  bool share;
  int64_t evaluations;
  bool each;
  bool log_mean;
  std::string order;
  uint64_t seed;
  std::optional<torch::Tensor> given;
  bool per_variable;
};

ScoreOptions score_options(const ScoreRequest& asked) {
  ScoreOptions options{.method = parse_score_method(asked.bound, "bound"),
                       .each = asked.each,
                       .evaluations = asked.evaluations,
                       .log_mean = asked.log_mean,
                       .seed = asked.seed,
                       .given = asked.given.value_or(torch::Tensor()),
                       .per_variable = asked.per_variable};
  if (asked.log_mean) options.trace.kind = TraceKind::exact;
  if (asked.order == "left-to-right") options.order = LabelOrder::left_to_right;
  if (asked.order == "random") options.order = LabelOrder::random;
  if (asked.error) options.error = asked.share ? ErrorGoal{0.0, *asked.error} : ErrorGoal{*asked.error, 0.0};
  if (!asked.error && asked.evaluations > 0) options.error.reset();
  return options;
}

struct ScoreResult {
  torch::Tensor log_p;      // [N]
  torch::Tensor std_error;  // [N], of chance and integration
  torch::Tensor cells;      // [N, n], or undefined
  std::string method;       // in words
};

ScoreResult score(const LoadedRun& run, const DataSource& source, const ScoreRequest& asked) {
  const auto labels = first_items(run.model.space(), source, 0, "data", Unknowns::allow);
  Job job;
  const ScoredData scored = Scorer(run, score_options(asked))(labels, job.callbacks());
  const ItemScores all = scored.all();
  return {all.log_p, total_error(all), all.cells, scored.scores.describe()};
}

// Which variables the user names: [n] bool.
torch::Tensor variables(const LoadedRun& run, const std::vector<std::string>& names, const std::string& option) {
  auto mask = torch::zeros({run.model.space().n_variables()}, torch::kBool);
  for (const auto& name : names) mask = mask.logical_or(parse_variables(run.model.space(), name, option));
  return mask;
}

struct Completed {
  torch::Tensor labels;         // [N, draws, n]; [N, 1, n] the most likely
  torch::Tensor data;           // [N, n] the items as they were
  torch::Tensor known;          // [N, n] what was taken from them as known
  torch::Tensor probabilities;  // [N, S], or undefined
};

Completed complete(const LoadedRun& run, const DataSource& source, int64_t draws, bool probabilities, uint64_t seed,
                   double noise, const std::optional<torch::Tensor>& given,
                   const std::optional<torch::Tensor>& evidence, const Set& set, bool holes_as_trained) {
  const Space& space = run.model.space();
  const Completer completer(run, {.sample = sample_options(run, set),
                                  .seed = seed,
                                  .noise = noise,
                                  .given = given.value_or(torch::Tensor()),
                                  .holes_as_trained = holes_as_trained});
  const auto labels = first_items(space, source, 0, "data", Unknowns::allow);
  torch::Tensor soft;
  if (evidence)
    soft = check_evidence(space, evidence->to(torch::kCPU, torch::kFloat64), file_rows_of(source, labels.size(0)),
                          "evidence");
  std::vector<torch::Tensor> found, known, p;
  const auto use = [&](const CompletedItems& done) {
    known.push_back(done.known);
    if (done.labels.defined()) found.push_back(done.labels.to(label_type(space)));
    if (probabilities) p.push_back(done.probabilities);
  };
  Job job;
  complete_items(completer, labels, soft, {.draws = draws, .labels = draws >= 0, .probabilities = probabilities}, use,
                 job.callbacks());
  return {found.empty() ? torch::Tensor() : torch::cat(found), labels, torch::cat(known),
          p.empty() ? torch::Tensor() : torch::cat(p)};
}

struct Oddness {
  OddRows rows;
  std::vector<std::string> pairs() const {
    std::vector<std::string> texts(rows.pairs.size());
    for (size_t k = 0; k < texts.size(); ++k)
      if (rows.pairs[k]) texts[k] = describe(*rows.pairs[k], rows.space, rows.labels[static_cast<int64_t>(k)]);
    return texts;
  }
};

// Training items: those of the whole data that training was given, of a source `train`, or the run's own.
Oddness outliers(const LoadedRun& run, const DataSource& source, const SharedSource& data, const SharedSource& train,
                 double error, int64_t times, int64_t calibration, uint64_t seed) {
  const RunItems items = train  ? RunItems{relabel(run.model.space(), train, "train")}
                         : data ? open_run_items(run, data)
                                : open_run_items(run, "", "train=");
  Job job;
  const OutlierOptions options{
      .calibration = calibration, .held_out = items.held_out, .error = error, .times = times, .seed = seed};
  return {rank_outliers(run, source, *items.learned, options, job.callbacks()).rows};
}

std::string config_of(const LoadedRun& run) {
  Experiment experiment = run.experiment;
  return schema_of(experiment).to_toml(/*with_help=*/false);
}

void bind_training(nb::module_& m) {
  nb::class_<TrainResult>(m, "TrainResult")
      .def_ro("steps", &TrainResult::steps)
      .def_ro("finished", &TrainResult::finished)
      .def_prop_ro("held_out_nats", [](const TrainResult& result) -> std::optional<double> {
        if (result.validations.empty()) return std::nullopt;
        return result.validations.back().result.nats;
      });
  m.def(
      "train",
      [](SharedSource source, std::string data, std::string config, Set set, std::string device, std::string max_time,
         std::string out, std::string called, bool resume, bool show, std::optional<TorchModule> module) {
        return train({std::move(source), std::move(data), std::move(config), std::move(set), std::move(device),
                      std::move(max_time), std::move(out), std::move(called), resume, show, std::move(module)});
      },
      "source"_a.none(), "data"_a, "config"_a, "set"_a, "device"_a, "max_time"_a, "out"_a, "called"_a, "resume"_a,
      "show"_a, "module"_a.none(), nb::call_guard<Work>());
}

void bind_plan(nb::module_& m) {
  m.def(
      "plan",
      [](SharedSource source, std::string data, std::string config, Set set, std::string device, std::string max_time,
         bool show, std::optional<TorchModule> module) {
        return plan({.source = std::move(source),
                     .data = std::move(data),
                     .config = std::move(config),
                     .set = std::move(set),
                     .device = std::move(device),
                     .max_time = std::move(max_time),
                     .show = show,
                     .module = std::move(module)});
      },
      "source"_a.none(), "data"_a, "config"_a, "set"_a, "device"_a, "max_time"_a, "show"_a, "module"_a.none(),
      nb::call_guard<Work>());
}

void bind_results(nb::module_& m) {
  nb::class_<ScoreResult>(m, "ScoreResult")
      .def_prop_ro("log_p", [](const ScoreResult& r) { return r.log_p; })
      .def_prop_ro("std_error", [](const ScoreResult& r) { return r.std_error; })
      .def_prop_ro("cells", [](const ScoreResult& r) { return maybe(r.cells); })
      .def_ro("method", &ScoreResult::method);
  nb::class_<Completed>(m, "Completed")
      .def_prop_ro("labels", [](const Completed& c) { return maybe(c.labels); })
      .def_prop_ro("data", [](const Completed& c) { return c.data; })
      .def_prop_ro("known", [](const Completed& c) { return c.known; })
      .def_prop_ro("probabilities", [](const Completed& c) { return maybe(c.probabilities); });
  nb::class_<Oddness>(m, "Oddness")
      .def_prop_ro("score", [](const Oddness& o) { return o.rows.score; })
      .def_prop_ro("std_error", [](const Oddness& o) { return o.rows.std_error; })
      .def_prop_ro("percentile", [](const Oddness& o) { return o.rows.percentile; })
      .def_prop_ro("variable", [](const Oddness& o) { return maybe(o.rows.variable); })
      .def_prop_ro("nats", [](const Oddness& o) { return o.rows.nats; })
      .def_prop_ro("nats_error", [](const Oddness& o) { return o.rows.nats_error; })
      .def_prop_ro("pairs", &Oddness::pairs)
      .def_prop_ro("outside", [](const Oddness& o) { return o.rows.outside; });
}

}  // namespace

void bind_run(nb::module_& m) {
  bind_training(m);
  bind_plan(m);
  bind_results(m);
  nb::class_<LoadedRun>(m, "Run")
      .def_prop_ro("space", [](const LoadedRun& run) { return run.model.space(); })
      .def_ro("step", &LoadedRun::step)
      .def_prop_ro("seed", [](const LoadedRun& run) { return run.experiment.seed; })
      .def_prop_ro("data", [](const LoadedRun& run) { return run.experiment.data; })
      .def_prop_ro("network",
                   [](const LoadedRun& run) {
                     const Experiment& e = run.experiment;
                     return e.custom_net.empty() ? describe_net(e.net) : e.custom_net;
                   })
      .def_prop_ro("n_parameters", [](const LoadedRun& run) { return n_parameters(run.model.field()); })
      .def_prop_ro("config", &config_of)
      .def_prop_ro("model", [](const LoadedRun& run) { return run.model; })
      .def("sample", &sample, "count"_a, "seed"_a, "set"_a, "given"_a.none(), nb::call_guard<Work>())
      .def(
          "score",
          [](const LoadedRun& run, const DataSource& source, std::string bound, std::optional<double> error, bool share,
             int64_t evaluations, bool each, bool log_mean, std::string order, uint64_t seed,
             std::optional<torch::Tensor> given, bool per_variable) {
            return score(run, source,
                         {std::move(bound), error, share, evaluations, each, log_mean, std::move(order), seed,
                          std::move(given), per_variable});
          },
          "source"_a, "bound"_a, "error"_a.none(), "share"_a, "evaluations"_a, "each"_a, "log_mean"_a, "order"_a,
          "seed"_a, "given"_a.none(), "per_variable"_a, nb::call_guard<Work>())
      .def("complete", &complete, "source"_a, "draws"_a, "probabilities"_a, "seed"_a, "noise"_a, "given"_a.none(),
           "evidence"_a.none(), "set"_a, "holes_as_trained"_a = false, nb::call_guard<Work>())
      .def("outliers", &outliers, "source"_a, "data"_a.none(), "train"_a.none(), "error"_a, "times"_a, "calibration"_a,
           "seed"_a, nb::call_guard<Work>())
      .def("variables", &variables, "names"_a, "option"_a)
      .def(
          "labels_named",
          [](const LoadedRun& run, const std::vector<std::pair<std::string, std::string>>& pairs) {
            return labels_named(run.model.space(), pairs, "given");
          },
          "pairs"_a);
  m.def("load_run", &load, "path"_a, "device"_a, "checkpoint"_a, "full_precision"_a, "module"_a.none(),
        nb::call_guard<Work>());
}

}  // namespace segre::python
