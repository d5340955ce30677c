// segre predict: one column of a table from the others.

#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "segre/core/progress.h"
#include "segre/data/source_name.h"
#include "segre/tasks/predict.h"

namespace segre::cli {
namespace {

struct PredictArguments {
  std::string run;
  std::string data;
  std::string column;
  std::string out;
  std::string device = "cpu";
  std::string checkpoint{};
};

void predict(const PredictArguments& a, const std::shared_ptr<Ranks>& ranks) {
  RanksOutput file(*ranks, "--out", a.out);
  const LoadedRun run = load_named(ranks, a.run, a.device, a.checkpoint);
  PredictionQuality quality;
  file.write([&](std::ostream& out) {
    quality = with_progress([&](const WorkCallbacks& callbacks) {
      return predict_column(run, parse_source_name(a.data), "--data " + a.data, a.column, "--column", out, callbacks);
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
  command
      ->add_option("--out", a->out,
                   "FILE.csv (row, label, probability, and the truth if the data have it), or - for standard output")
      ->required();
  add_device_option(*command, a->device);
  add_checkpoint_option(*command, a->checkpoint);
  command->footer(
      "If the data have the truth: accuracy, log loss and calibration.\n"
      "Example: segre predict runs/weather --data csv:examples/weather.csv --column sky --out predictions.csv");
  command->callback([a] { over_ranks([&](const auto& ranks) { predict(*a, ranks); }); });
}

}  // namespace segre::cli
