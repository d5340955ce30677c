// Trained models: training, loading, and the tasks of the command line.

#include "segre/runs/load_run.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "arrays.h"
#include "bindings.h"
#include "fields.h"
#include "labels.h"
#include "segre/core/clock.h"
#include "segre/core/device.h"
#include "segre/core/log.h"
#include "segre/core/progress.h"
#include "segre/ood/outliers.h"
#include "segre/report/evaluation_page.h"
#include "segre/report/table_page.h"
#include "segre/runs/plan_report.h"
#include "segre/runs/train_display.h"
#include "segre/runs/train_run.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/given.h"
#include "segre/tasks/session.h"
#include "segre/tasks/to_json.h"
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

std::unique_ptr<Session> load(const std::string& path, const std::string& device, const std::string& checkpoint,
                              bool full_precision, const std::optional<TorchModule>& module) {
  const auto which = checkpoint.empty()     ? Checkpoint::chosen
                     : checkpoint == "last" ? Checkpoint::last
                     : checkpoint == "best" ? Checkpoint::best
                                            : throw InputError("checkpoint " + checkpoint + ": expected last or best");
  const auto precision = full_precision ? NetPrecision::float32 : NetPrecision::automatic;
  return std::make_unique<Session>(module
                                       ? load_run(path, parse_device(device), custom_field(*module), which, precision)
                                       : load_run(path, parse_device(device), which, precision),
                                   path);
}

SampleOptions sample_options(const Session& session, const Set& set) {
  Experiment experiment = session.run().experiment;
  set_sample_keys(experiment, set, "config");
  return experiment.sample;
}

Sampled sample(const Session& session, int64_t count, uint64_t seed, const Set& set,
               const std::optional<torch::Tensor>& given, bool numbers) {
  SampleRequest request{
      .count = count, .sample = sample_options(session, set), .seed = seed, .given = {}, .numbers = numbers};
  if (given) request.given = checked_labels(session.space(), *given, Unknowns::allow);
  Job job;
  return session.sample(request, job.callbacks());
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

ScoredData score(const Session& session, const DataSource& source, const ScoreRequest& asked) {
  const auto labels = first_items(session.space(), source, 0, "data", Unknowns::allow);
  Job job;
  return session.score(labels, score_options(asked), job.callbacks(), file_rows_of(source, labels.size(0)));
}

// Which variables the user names: [n] bool.
torch::Tensor variables(const Session& session, const std::vector<std::string>& names, const std::string& option) {
  auto mask = torch::zeros({session.space().n_variables()}, torch::kBool);
  for (const auto& name : names) mask = mask.logical_or(parse_variables(session.space(), name, option));
  return mask;
}

// The items of a source, and what is known about their labels besides.
ItemsInMemory items_in(const Space& space, const DataSource& source, const std::optional<torch::Tensor>& evidence) {
  ItemBatch items{.labels = first_items(space, source, 0, "data", Unknowns::allow)};
  const auto file_rows = file_rows_of(source, items.labels.size(0));
  if (evidence) items.soft = check_evidence(space, evidence->to(torch::kCPU, torch::kFloat64), file_rows, "evidence");
  for (const int64_t row : file_rows) items.rows.push_back(row + 1);
  return ItemsInMemory(std::move(items));
}

Completed complete(const Session& session, const DataSource& source, int64_t draws, bool probabilities, uint64_t seed,
                   double noise, const std::optional<torch::Tensor>& given,
                   const std::optional<torch::Tensor>& evidence, const Set& set) {
  const CompleteRequest request{
      {.sample = sample_options(session, set), .seed = seed, .noise = noise, .given = given.value_or(torch::Tensor())},
      {.draws = std::max<int64_t>(draws, 0), .labels = draws >= 0, .probabilities = probabilities}};
  ItemsInMemory items = items_in(session.space(), source, evidence);
  Job job;
  return session.complete(items, request, job.callbacks());
}

Predicted predict(const Session& session, const DataSource& source, const std::string& column, bool holes_as_trained) {
  ItemsInMemory items = items_in(session.space(), source, std::nullopt);
  Job job;
  return session.predict(items, {.column = column, .holes_as_trained = holes_as_trained}, job.callbacks());
}

std::vector<std::string> pairs_of(const OddRows& rows) {
  std::vector<std::string> texts(rows.pairs.size());
  for (size_t k = 0; k < texts.size(); ++k)
    if (rows.pairs[k]) texts[k] = describe(*rows.pairs[k], rows.space, rows.labels[static_cast<int64_t>(k)]);
  return texts;
}

// Training items: those of the whole data that training was given, of a source `train`, or the run's own.
RankedRows outliers(const Session& session, const DataSource& source, const SharedSource& data,
                    const SharedSource& train, double error, int64_t times, int64_t calibration, uint64_t seed) {
  NoteCollector notes;
  const LoadedRun& run = session.run();
  const RunItems items = train  ? RunItems{relabel(run.model.space(), train, "train")}
                         : data ? open_run_items(run, data)
                                : open_run_items(run, "", "train=");
  Job job;
  const OutlierOptions options{
      .calibration = calibration, .held_out = items.held_out, .error = error, .times = times, .seed = seed};
  RankedRows ranked = session.outliers(source, *items.learned, options, job.callbacks());
  for (const std::string& text : notes.take()) ranked.notes.push_back(text);
  return ranked;
}

using Table = std::shared_ptr<TableInMemory>;

// What evaluate() requests. Tables in memory are named as well, for texts.
struct EvaluateRequest {
  std::string data, train, samples;
  Table data_table, train_table, samples_table;
  int64_t count, items;
  uint64_t seed;
  std::string target;
  Set set;
};

// `session`: nullptr without a model.
RunEvaluation evaluate(const Session* session, const EvaluateRequest& asked) {
  EvaluateRunOptions options{.data = asked.data,
                             .train = asked.train,
                             .samples = asked.samples,
                             .count = asked.count,
                             .items = asked.items,
                             .seed = asked.seed,
                             .target = asked.target,
                             .data_table = asked.data_table,
                             .train_table = asked.train_table,
                             .samples_table = asked.samples_table};
  Job job;
  if (session == nullptr) return evaluate_samples(options, job.callbacks());
  options.sample = sample_options(*session, asked.set);
  return session->evaluate(options, job.callbacks());
}

// The page and tables of an evaluation, into an existing folder.
void write_evaluated(const RunEvaluation& result, const std::string& folder, const std::string& title,
                     const std::string& plotly) {
  if (!result.table)
    return write_evaluation(folder, result.data, result.found,
                            evaluation_page(result.data, result.found, title, result.setting), plotly);
  const auto& [data, found] = *result.table;
  write_table_evaluation(folder, data, found, result.data, result.found,
                         table_page(data, found, result.found, title, result.setting), plotly);
}

std::string config_of(const Session& session) {
  Experiment experiment = session.run().experiment;
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

// A result's class, with what every result has.
template <class Result>
nb::class_<Result> bind_result(nb::module_& m, const char* name) {
  return nb::class_<Result>(m, name).def_ro("notes", &Result::notes).def("json", [](const Result& result) {
    return text_of(to_json(result));
  });
}

void bind_results(nb::module_& m) {
  bind_result<Sampled>(m, "Sampled").def_prop_ro("labels", [](const Sampled& s) { return s.labels; });
  bind_result<ScoredData>(m, "Scored")
      .def_prop_ro("log_p", [](const ScoredData& s) { return s.all().log_p; })
      .def_prop_ro("std_error", [](const ScoredData& s) { return total_error(s.all()); })
      .def_prop_ro("cells", [](const ScoredData& s) { return maybe(s.all().cells); })
      .def_prop_ro("method", [](const ScoredData& s) { return s.scores.describe(); });
  bind_result<Completed>(m, "Completed")
      .def_prop_ro("labels", [](const Completed& c) { return maybe(c.items.labels); })
      .def_prop_ro("data", [](const Completed& c) { return c.items.data; })
      .def_prop_ro("known", [](const Completed& c) { return c.items.known; })
      .def_prop_ro("probabilities", [](const Completed& c) { return maybe(c.items.probabilities); });
  bind_result<Predicted>(m, "Predicted")
      .def_prop_ro("probabilities", [](const Predicted& p) { return p.items.probabilities; })
      .def_prop_ro("numbers", [](const Predicted& p) { return maybe(p.items.numbers); })
      .def_prop_ro_static("number_summary", [](nb::handle /*class*/) {
        return std::vector<std::string>(kNumberSummary.begin(), kNumberSummary.end());
      });
  bind_result<RunEvaluation>(m, "Evaluated")
      .def("write", &write_evaluated, "folder"_a, "title"_a, "plotly"_a, nb::call_guard<Work>());
  bind_result<RankedRows>(m, "Oddness")
      .def_prop_ro("score", [](const RankedRows& o) { return o.rows.score; })
      .def_prop_ro("std_error", [](const RankedRows& o) { return o.rows.std_error; })
      .def_prop_ro("percentile", [](const RankedRows& o) { return o.rows.percentile; })
      .def_prop_ro("variable", [](const RankedRows& o) { return maybe(o.rows.variable); })
      .def_prop_ro("nats", [](const RankedRows& o) { return o.rows.nats; })
      .def_prop_ro("nats_error", [](const RankedRows& o) { return o.rows.nats_error; })
      .def_prop_ro("pairs", [](const RankedRows& o) { return pairs_of(o.rows); })
      .def_prop_ro("outside", [](const RankedRows& o) { return o.rows.outside; });
}

}  // namespace

void bind_run(nb::module_& m) {
  bind_training(m);
  bind_plan(m);
  bind_results(m);
  nb::class_<Session>(m, "Session")
      .def_prop_ro("space", [](const Session& session) { return session.space(); })
      .def_prop_ro("step", [](const Session& session) { return session.run().step; })
      .def_prop_ro("seed", [](const Session& session) { return session.run().experiment.seed; })
      .def_prop_ro("data", [](const Session& session) { return session.run().experiment.data; })
      .def_prop_ro("network",
                   [](const Session& session) {
                     const Experiment& e = session.run().experiment;
                     return e.custom_net.empty() ? describe_net(e.net) : e.custom_net;
                   })
      .def_prop_ro("n_parameters", [](const Session& session) { return n_parameters(session.run().model.field()); })
      .def_prop_ro("config", &config_of)
      .def_prop_ro("model", [](const Session& session) { return session.run().model; })
      .def("sample", &sample, "count"_a, "seed"_a, "set"_a, "given"_a.none(), "numbers"_a, nb::call_guard<Work>())
      .def(
          "score",
          [](const Session& session, const DataSource& source, std::string bound, std::optional<double> error,
             bool share, int64_t evaluations, bool each, bool log_mean, std::string order, uint64_t seed,
             std::optional<torch::Tensor> given, bool per_variable) {
            return score(session, source,
                         {std::move(bound), error, share, evaluations, each, log_mean, std::move(order), seed,
                          std::move(given), per_variable});
          },
          "source"_a, "bound"_a, "error"_a.none(), "share"_a, "evaluations"_a, "each"_a, "log_mean"_a, "order"_a,
          "seed"_a, "given"_a.none(), "per_variable"_a, nb::call_guard<Work>())
      .def("complete", &complete, "source"_a, "draws"_a, "probabilities"_a, "seed"_a, "noise"_a, "given"_a.none(),
           "evidence"_a.none(), "set"_a, nb::call_guard<Work>())
      .def("predict", &predict, "source"_a, "column"_a, "holes_as_trained"_a, nb::call_guard<Work>())
      .def("outliers", &outliers, "source"_a, "data"_a.none(), "train"_a.none(), "error"_a, "times"_a, "calibration"_a,
           "seed"_a, nb::call_guard<Work>())
      .def(
          "evaluate",
          [](const Session& session, std::string data, std::string train, std::string samples, Table data_table,
             Table train_table, Table samples_table, int64_t count, int64_t items, uint64_t seed, std::string target,
             Set set) {
            return evaluate(&session, {std::move(data), std::move(train), std::move(samples), std::move(data_table),
                                       std::move(train_table), std::move(samples_table), count, items, seed,
                                       std::move(target), std::move(set)});
          },
          "data"_a, "train"_a, "samples"_a, "data_table"_a.none(), "train_table"_a.none(), "samples_table"_a.none(),
          "count"_a, "items"_a, "seed"_a, "target"_a, "set"_a, nb::call_guard<Work>())
      .def("variables", &variables, "names"_a, "option"_a)
      .def(
          "labels_named",
          [](const Session& session, const std::vector<std::pair<std::string, std::string>>& pairs) {
            return labels_named(session.space(), pairs, "given");
          },
          "pairs"_a);
  m.def(
      "evaluate_samples",
      [](std::string data, std::string train, std::string samples, Table data_table, Table train_table,
         Table samples_table, int64_t count, int64_t items, uint64_t seed, std::string target) {
        return evaluate(nullptr, {std::move(data),
                                  std::move(train),
                                  std::move(samples),
                                  std::move(data_table),
                                  std::move(train_table),
                                  std::move(samples_table),
                                  count,
                                  items,
                                  seed,
                                  std::move(target),
                                  {}});
      },
      "data"_a, "train"_a, "samples"_a, "data_table"_a.none(), "train_table"_a.none(), "samples_table"_a.none(),
      "count"_a, "items"_a, "seed"_a, "target"_a, nb::call_guard<Work>());
  m.def("load_session", &load, "path"_a, "device"_a, "checkpoint"_a, "full_precision"_a, "module"_a.none(),
        nb::call_guard<Work>());
}

}  // namespace segre::python
