#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/set_option.h"
#include "segre/core/clock.h"
#include "segre/core/device.h"
#include "segre/core/error.h"
#include "segre/core/interrupt.h"
#include "segre/core/parallel.h"
#include "segre/core/progress.h"
#include "segre/io/output.h"
#include "segre/runs/plan_report.h"
#include "segre/runs/train_display.h"

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
  bool plan = false;   // print the plan and stop
  bool json = false;
};

// Whether to continue a run: with "auto", if there is one.
bool resumes(const TrainArguments& arguments, const RunDirectory& run) {
  if (arguments.resume != "auto" && arguments.resume != "yes" && !arguments.resume.empty())
    fail_input("--resume=", arguments.resume, ": expected auto, or --resume alone");
  return arguments.resume == "yes" || (arguments.resume == "auto" && run.latest().has_value());
}

Request request_of(const TrainArguments& arguments, const RunDirectory& run, bool resume, double started) {
  Request request{.config = arguments.config,
                  .data = arguments.data,
                  .set = arguments.set,
                  .set_called = "--set",
                  .out = run.path(),
                  .resume = resume,
                  .device = parse_device(device_of_rank(arguments.device), "--device"),
                  .started = started,
                  .on_reason = print_recipe};
  if (!arguments.seed.empty()) request.set.push_back(concat("seed=", parse_seed(arguments.seed)));
  if (!arguments.max_time.empty()) request.max_seconds = parse_duration("--max-time", arguments.max_time);
  if (!resume) require_data(request);
  return request;
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

void print_device(const TrainPlan& plan) {
  std::cout << "device    " << plan.device.str() << ", " << n_threads() << (n_threads() == 1 ? " thread" : " threads");
  if (plan.ranks->are_many()) std::cout << ", " << plan.ranks->size() << " ranks";
  std::cout << '\n';
}

// Prints what a training would do; creates nothing.
void print_training_plan(const TrainArguments& arguments, const std::shared_ptr<Ranks>& ranks) {
  const RunDirectory run(arguments.out);
  const auto how = on_first(*ranks, [&] { return std::string(resumes(arguments, run) ? "resume" : "start"); });
  Request request = request_of(arguments, run, how == "resume", now_seconds());
  request.ranks = ranks;
  // JSON is printed at the end, the reasons as they are found.
  if (!arguments.json)
    request.on_reason = [](const std::string& reason) { std::cout << "recipe    " << reason << std::endl; };
  const TrainPlan plan = plan_training(request);
  if (arguments.json) {
    std::cout << to_json(plan).dump(2) << '\n';
  } else {
    std::cout << describe(start_of(plan));
    print_device(plan);
  }
}

void train(const TrainArguments& arguments, const Context& context, const std::shared_ptr<Ranks>& ranks) {
  const double start = now_seconds();
  std::optional<OutputFolder> out;
  const RunDirectory run(on_first(*ranks, [&] { return out.emplace("--out", arguments.out).path().string(); }));
  const auto how = on_first(*ranks, [&] { return std::string(resumes(arguments, run) ? "resume" : "start"); });
  Request request = request_of(arguments, run, how == "resume", start);
  request.ranks = ranks;
  TrainDisplay display;
  TrainCallbacks callbacks = display.callbacks();
  callbacks.signals = true;
  const TrainResult result = train_run(plan_training(request), callbacks, context.command_line);
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
  command->add_option("--out", arguments->out, "directory for the run; required unless only a --plan is wanted");
  command->add_option("--data", arguments->data,
                      "what to learn, such as csv:FILE or idx:FILE; 'segre data --help' lists them");
  add_set_option(*command, arguments->set, "train.steps=100");
  command->add_option("--seed", arguments->seed, "seed of all randomness");
  add_device_option(*command, arguments->device);
  command->add_option("--max-time", arguments->max_time, "finish the training within this time: 60s, 5m, 1h");
  command->add_flag(
      "--resume{yes}", arguments->resume,
      "continue the run in --out from its last checkpoint, with the same data, model and objective; 'segre "
      "keys' marks the keys that may change; --resume auto: if it has one, else start it");
  command->add_flag("--plan", arguments->plan,
                    "print data, network and the reasons for it, steps and device, and stop; under --max-time the "
                    "networks race first, as they would");
  command->add_flag("--json", arguments->json, "print the --plan as JSON");
  command->footer(
      "SIGINT and SIGTERM save and exit with 130 and 143; --resume continues. Only one process may write a run.\n"
      "Example: segre train --data pinwheel --out runs/pinwheel --max-time 60s\n"
      "         segre train --data pinwheel --plan --json");
  command->callback([arguments, &context] {
    if (arguments->json && !arguments->plan) fail_input("--json prints the plan of a training: give --plan, too");
    if (arguments->out.empty() && (!arguments->plan || !arguments->resume.empty())) throw CLI::RequiredError("--out");
    over_ranks([&](const std::shared_ptr<Ranks>& ranks) {
      arguments->plan ? print_training_plan(*arguments, ranks) : train(*arguments, context, ranks);
    });
  });
}

}  // namespace segre::cli
