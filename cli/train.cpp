#include <csignal>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/set_option.h"
#include "segre/core/device.h"
#include "segre/core/error.h"
#include "segre/core/interrupt.h"
#include "segre/core/progress.h"
#include "segre/experiment/resolve.h"
#include "segre/experiment/train_display.h"
#include "segre/io/output.h"
#include "segre/sources/source_kinds.h"

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
  std::string resume;  // "", "yes" or "auto"
};

// Whether to continue a run: with "auto", if there is one.
bool resumes(const TrainArguments& arguments, const RunDirectory& run) {
  if (arguments.resume != "auto" && arguments.resume != "yes" && !arguments.resume.empty())
    fail_input("--resume=", arguments.resume, ": expected auto, or --resume alone");
  return arguments.resume == "yes" || (arguments.resume == "auto" && run.latest().has_value());
}

// What to train: the recipe for the data, or the earlier request of a resumed run, changed by CONFIG and the rest.
Resolved resolved(const TrainArguments& arguments, bool resume, double max_seconds) {
  Request request{.config = arguments.config,
                  .data = arguments.data,
                  .set = arguments.set,
                  .set_called = "--set",
                  .tell = print_recipe};
  if (!arguments.seed.empty()) request.set.push_back(concat("seed=", parse_seed(arguments.seed)));
  const torch::Device device = parse_device(arguments.device, "--device");
  if (resume) return resolve_resumed(request, RunDirectory(arguments.out));
  require_data(request);
  return resolve(request, device, max_seconds);
}

// The same over ranks: rank 0 chooses, and the others open the same data. Those of a resumed run are opened with it.
Resolved agreed(Ranks& ranks, const TrainArguments& arguments, bool resume, double max_seconds) {
  Resolved out{};
  const auto config = on_first(ranks, [&] {
    out = resolved(arguments, resume, max_seconds);
    return schema_of(out.experiment).to_toml(/*with_help=*/false);
  });
  if (ranks.is_first()) return out;
  schema_of(out.experiment).read_text(config, "rank 0");
  if (!resume) out.source = open_source(out.experiment.data);
  return out;
}

// How good the model is, and what to type next.
void print_result(const TrainResult& result, const std::string& run, double seconds) {
  print_end(result, run, seconds,
            {.best_is_used = "commands use that step",
             .best_is_kept = "--checkpoint best uses that step",
             .to_continue = "to continue, use --set train.steps=N with a larger N, or --max-time"});
  if (!result.finished || result.new_steps == 0) return;
  std::cerr << "next      segre sample " << run
            << (best_before_the_end(result) && !result.uses_best ? " --checkpoint best" : "") << " --count "
            << (result.space.is(PartKind::image) ? "16 --out samples.png" : "1000 --out samples.csv") << '\n';
}

void train(const TrainArguments& arguments, const Context& context, const std::shared_ptr<Ranks>& ranks) {
  const double start = now_seconds();
  std::optional<OutputFolder> out;
  const RunDirectory run(on_first(*ranks, [&] { return out.emplace("--out", arguments.out).path().string(); }));
  const auto how = on_first(*ranks, [&] {
    run.lock().reset();  // fails before the data are read if another process writes to the run
    return std::string(resumes(arguments, run) ? "resume" : "start");
  });
  const bool resume = how == "resume";
  const double max_seconds = arguments.max_time.empty() ? 0.0 : parse_duration("--max-time", arguments.max_time);
  const auto [experiment, source] = agreed(*ranks, arguments, resume, max_seconds);
  TrainDisplay display;
  TrainRunOptions options{.device = device_of_rank(arguments.device),
                          .max_seconds = max_seconds,
                          .started = start,
                          .resume = resume,
                          .command = context.command_line,
                          .source = source,
                          .callbacks = display.callbacks(),
                          .ranks = ranks};
  options.callbacks.signals = true;
  const TrainResult result = train_run(experiment, run, options);
  display.clear();
  print_result(result, arguments.out, now_seconds() - start);
  if (!result.finished) {
    std::cerr << "stopped by a signal and saved; continue with: segre train --out " << arguments.out << " --resume\n";
    ranks->leave();
    throw Stopped{InterruptGuard::requested() ? InterruptGuard::signal() : SIGTERM};
  }
}

}  // namespace

void add_train(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("train", "Learn a distribution from data");
  auto arguments = std::make_shared<TrainArguments>();
  command->add_option("CONFIG", arguments->config,
                      "TOML file with keys that change the recipe for the data ('segre keys' lists every key)");
  command->add_option("--out", arguments->out, "directory for the run")->required();
  command->add_option("--data", arguments->data,
                      "what to learn, such as csv:FILE or idx:FILE; 'segre data --help' lists them");
  add_set_option(*command, arguments->set, "train.steps=100");
  command->add_option("--seed", arguments->seed, "seed of all randomness");
  add_device_option(*command, arguments->device);
  command->add_option("--max-time", arguments->max_time, "fit the training into this time: 60s, 5m, 1h");
  command->add_flag(
      "--resume{yes}", arguments->resume,
      "continue the run in --out from its last checkpoint, with the same data, model and objective; 'segre "
      "keys' says which keys may change; --resume auto: if it has one, else start it");
  command->footer(
      "SIGINT and SIGTERM save and exit with 130 and 143; --resume continues. Only one process may write a run.\n"
      "Example: segre train --data pinwheel --out runs/pinwheel --max-time 60s");
  command->callback([arguments, &context] {
    over_ranks([&](const std::shared_ptr<Ranks>& ranks) { train(*arguments, context, ranks); });
  });
}

}  // namespace segre::cli
