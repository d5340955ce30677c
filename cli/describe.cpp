#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/scaling_table.h"
#include "cli/set_option.h"
#include "segre/core/memory.h"

namespace segre::cli {
namespace {

constexpr int64_t kMostRanks = 1'000'000;

struct DescribeArguments {
  std::string config;
  std::string data;
  std::vector<std::string> set;
  std::vector<int64_t> ranks;
  std::vector<std::string> assume;
};

struct Described {
  Experiment experiment;
  Space space;
  int64_t steps;
};

// A run knows its space, so its data need not be there.
Described of_run(const DescribeArguments& arguments) {
  if (!arguments.data.empty())
    fail_input("--data ", arguments.data, ": ", arguments.config, " is a run, whose data are known");
  auto checkpoint = read_checkpoint(find_checkpoint(arguments.config, Checkpoint::chosen));
  auto schema = schema_of(checkpoint.experiment);
  for (const std::string& assignment : arguments.set) schema.set(assignment, "--set");
  return {checkpoint.experiment, checkpoint.space, checkpoint.step};
}

Described of_config(const DescribeArguments& arguments) {
  const Request request{
      .config = arguments.config, .data = arguments.data, .set = arguments.set, .set_called = "--set"};
  require_data(request);
  const auto [choice, source] = resolve(request);
  return {choice.experiment, source->space(), total_steps(choice.experiment.train, *source)};
}

void print_network(const Described& described, const NetOutline& outline) {
  const auto& [experiment, space, steps] = described;
  const NetCost& cost = outline.cost;
  const auto bytes = [](double numbers) { return format_bytes(static_cast<int64_t>(numbers)); };
  const auto parameters = static_cast<double>(cost.n_parameters);
  const auto rows = static_cast<double>(space.n_coordinates());
  const auto batch = static_cast<double>(experiment.train.batch);
  std::cout << "data         " << experiment.data << ": " << space.describe() << '\n'
            << "network      " << experiment.net.kind << ", " << cost.n_parameters << " parameters ("
            << bytes(4.0 * parameters) << " in float32)\n";
  for (const std::string& layer : outline.layers) std::cout << "  " << layer << '\n';
  std::cout << std::setprecision(4) << "per sample   " << cost.forward_flops / 1e9 << " GFLOP forward, "
            << cost.training_flops / 1e9 << " GFLOP in a training step\n"
            << "             activations of a training step: " << bytes(4.0 * static_cast<double>(cost.n_saved))
            << " in float32, " << bytes(2.0 * static_cast<double>(cost.n_saved)) << " in bfloat16\n"
            << "training     batch of " << experiment.train.batch << ": "
            << bytes(batch * 4.0 * (static_cast<double>(cost.n_saved) + 10.0 * rows))
            << " of activations and path in float32, " << bytes(5.0 * 4.0 * parameters)
            << " of weights, gradients, moments and averages\n"
            << "             " << steps << " steps, " << cost.training_flops * batch * static_cast<double>(steps) / 1e15
            << " PFLOP\n";
}

Machine assumed(const DescribeArguments& arguments, Machine machine) {
  ConfigSchema schema;
  declare_machine_keys(schema, machine);
  for (const std::string& assignment : arguments.assume) schema.set(assignment, "--assume");
  return machine;
}

void print_plan(const DescribeArguments& arguments, const Described& described, const NetOutline& outline) {
  const NetOptions& net = described.experiment.net;
  if (outline.couples_items || net_kind(net.kind).counted) {
    std::cout << "scaling      none: every rank does all of the work, since "
              << (outline.couples_items ? "the items of a batch influence each other\n" : "the network is counted\n");
    return;
  }
  const Machine measured = machine_for(net, outline.cost);
  const Machine machine = assumed(arguments, measured);
  std::vector<int64_t> ranks = arguments.ranks;
  ranks.push_back(1);  // what the others are compared with
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  const std::string source = machine.share == measured.share ? share_source(net.kind, outline.cost.training_flops) : "";
  print_scaling(std::cout, step_work(described.experiment, described.space, outline), machine, source, ranks);
}

void describe(const DescribeArguments& arguments) {
  if (!arguments.assume.empty() && arguments.ranks.empty())
    fail_input("--assume ", arguments.assume.front(), ": applies to the plan that --ranks prints");
  assumed(arguments, {});   // refuses wrong ones before anything is printed
  std::error_code ignored;  // what is not a directory is read as a config, which reports what is wrong
  const bool is_run = std::filesystem::is_directory(arguments.config, ignored);
  const Described described = is_run ? of_run(arguments) : of_config(arguments);
  const NetOutline outline = outline_of(described.experiment, described.space);
  print_network(described, outline);
  if (!arguments.ranks.empty()) print_plan(arguments, described, outline);
}

}  // namespace

void add_describe(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("describe", "Print network, parameters, FLOPs and memory; plan many GPUs");
  auto arguments = std::make_shared<DescribeArguments>();
  command->add_option("CONFIG", arguments->config, "TOML file, or a run; default: the recipe for --data");
  command->add_option("--data", arguments->data, "SOURCE to use instead of data.source");
  command->add_option("--ranks", arguments->ranks, "speed and memory to expect on many GPUs: --ranks 8,64,1024")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{1}, kMostRanks));
  command->add_option("--assume", arguments->assume, "change its assumptions: --assume share=0.4,wire_bandwidth=25e9")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_set_option(*command, arguments->set, "net.channels=64");
  command->footer(
      "Example: segre describe --data 'streets?height=128&width=256'\n"
      "         segre describe configs/streets.toml --ranks 8,64,1024");
  command->callback([arguments] { describe(*arguments); });
}

}  // namespace segre::cli
