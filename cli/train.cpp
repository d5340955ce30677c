#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/set_option.h"
#include "cli/train_text.h"
#include "segre/core/error.h"
#include "segre/core/interrupt.h"
#include "segre/core/progress.h"
#include "segre/experiment/run.h"
#include "segre/io/output.h"

namespace segre::cli {
namespace {

struct TrainArguments {
  std::string config;
  std::string out;
  std::string data;
  std::vector<std::string> set;
  std::string seed;
  std::string device = "cpu";
  std::string max_time;
  bool resume = false;
};

// What a run is asked to go on with where no CONFIG is given: its config.toml, in which keys may have been changed by
// hand, or what the last checkpoint says if that file is gone. train_run refuses what makes it another run.
Experiment asked_before(const RunDirectory& run) {
  const auto checkpoint = find_checkpoint(run.path(), Checkpoint::last);
  Experiment experiment;
  if (std::filesystem::exists(run.config())) {
    schema_of(experiment).read_file(run.config());
    return experiment;
  }
  const auto description = read_checkpoint(checkpoint);
  experiment = description.experiment;
  // A run that the clock ends may do more steps than its config said.
  experiment.train.steps = std::max(experiment.train.steps, description.step);
  return experiment;
}

// What to train: CONFIG, or what the run was asked for before if it is resumed, or else the recipe for the data.
Gathered gather(const TrainArguments& arguments, double max_seconds) {
  std::vector<std::string> set = arguments.set;
  if (!arguments.seed.empty()) {
    set.push_back("seed=" + arguments.seed);
    Experiment checked;
    schema_of(checked).set(set.back(), "--seed");  // a bad one is reported under the option's own name
  }
  if (!arguments.resume)
    return gather_experiment(arguments.config, arguments.data, set, parse_device(arguments.device), max_seconds);
  Experiment base;
  if (arguments.config.empty()) {
    base = asked_before(RunDirectory(arguments.out));
  } else {
    schema_of(base).read_file(arguments.config);
  }
  return {changed_experiment(base, arguments.data, set), nullptr};  // opened as the checkpoint knows them
}

void train(const TrainArguments& arguments, const Context& context) {
  const double start = now_seconds();
  const OutputFolder out("--out", arguments.out);
  const RunDirectory run(out.path());
  run.lock().reset();  // whether another process writes there is said before the data are read
  const double max_seconds = arguments.max_time.empty() ? 0.0 : parse_duration("--max-time", arguments.max_time);
  const auto [experiment, source] = gather(arguments, max_seconds);
  TrainRunOptions options{.device = arguments.device,
                          .max_seconds = max_seconds,
                          .started = start,
                          .resume = arguments.resume,
                          .command = context.command_line,
                          .source = source,
                          .callbacks = {.on_start = print_start}};
  const TrainResult result = train_run(experiment, run, options);
  print_end(result, arguments.out, now_seconds() - start);
  if (!result.finished) {
    std::cerr << "stopped by a signal and saved; continue with: segre train --out " << arguments.out << " --resume\n";
    throw Stopped{InterruptGuard::signal()};
  }
}

}  // namespace

void add_train(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("train", "Learn a distribution from data");
  auto arguments = std::make_shared<TrainArguments>();
  command->add_option("CONFIG", arguments->config,
                      "TOML file; without it the recipe for the data is used ('segre keys' lists every key)");
  command->add_option("--out", arguments->out, "directory for the run")->required();
  command->add_option("--data", arguments->data,
                      "what to learn, such as csv:FILE or idx:FILE; 'segre data --help' lists them");
  add_set_option(*command, arguments->set, "train.steps=100");
  command->add_option("--seed", arguments->seed, "seed of all randomness");
  command->add_option("--device", arguments->device, "cpu, cuda or cuda:N");
  command->add_option("--max-time", arguments->max_time, "fit the training into this time: 60s, 5m, 1h");
  command->add_flag(
      "--resume", arguments->resume,
      "continue the run in --out from its last checkpoint, with the same data, model and objective; 'segre "
      "keys' says which keys may change");
  command->footer(
      "SIGINT and SIGTERM save and exit with 130 and 143; --resume continues. One process at a time writes a run.\n"
      "Example: segre train --data pinwheel --out runs/pinwheel --max-time 60s");
  command->callback([arguments, &context] { train(*arguments, context); });
}

}  // namespace segre::cli
