// segre predict: one column of a table from the others.

#include <iostream>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "segre/core/progress.h"
#include "segre/tasks/session.h"

namespace segre::cli {
namespace {

struct PredictArguments {
  std::string run;
  std::string data;
  std::string column;
  std::string given;
  std::string out;
  bool json = false;
  std::string device = "cpu";
  std::string checkpoint{};
};

void predict(const PredictArguments& a, const std::shared_ptr<Ranks>& ranks) {
  JsonOutput json(a.json);
  std::optional<RanksOutput> file;
  if (!json) file.emplace(*ranks, "--out", a.out);
  const Session session(load_named(ranks, a.run, a.device, a.checkpoint), a.run);
  const Space& space = session.space();
  const SourceName name = parse_source_name(a.data);
  const std::string what = "--data " + a.data;
  require_table(space, name, what);
  PredictRequest request{.column = a.column, .holes_as_trained = !holes_are_unknown(name), .called = "--column"};
  if (!a.given.empty()) request.condition = parse_condition(space, a.given, "--given");
  const int64_t variable = predicted_variable(space, request);
  if (json) {
    const auto rows = stream_csv(name, space, what, space.variable_name(variable));
    return json.print(
        with_progress([&](const WorkCallbacks& callbacks) { return session.predict(*rows, request, callbacks); }));
  }
  PredictionQuality quality;
  file->write([&](std::ostream& out) {
    quality = with_progress([&](const WorkCallbacks& callbacks) {
      return predict_csv(*session.completer(request), variable, name, what, out, callbacks);
    });
  });
  std::cerr << quality.describe() << '\n';
}

}  // namespace

void add_predict(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("predict", "Predict one column of a table from the others, with probabilities");
  auto a = std::make_shared<PredictArguments>();
  command->add_option("RUN", a->run, "directory that 'segre train' wrote")->required();
  command->add_option("--data", a->data, "csv:FILE, with or without the column; missing cells are unknown")->required();
  command->add_option("--column", a->column, "the column to predict")->required();
  command->add_option("--given", a->given,
                      "what holds for all rows besides: NAME=LABEL, NAME=A|B, NAME!=LABEL, NAME=30..60, NAME>30, ..., "
                      "separated by commas (%2C is a comma within one)");
  command->add_option(
      "--out", a->out,
      "FILE.csv (row, label, probability, and the truth if the data have it), or - for standard output");
  add_json_option(*command, a->json);
  add_device_option(*command, a->device);
  add_checkpoint_option(*command, a->checkpoint);
  command->footer(
      "If the data have the truth: accuracy, log loss and calibration.\n"
      "Example: segre predict runs/weather --data csv:examples/weather.csv --column sky --out predictions.csv");
  command->callback([a] {
    require_out(a->out, a->json);
    refuse_out("--out", a->out, a->json);
    over_ranks([&](const auto& ranks) { predict(*a, ranks); });
  });
}

}  // namespace segre::cli
