#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/set_option.h"
#include "segre/core/memory.h"
#include "segre/experiment/run.h"

namespace segre::cli {
namespace {

struct DescribeArguments {
  std::string config;
  std::string data;
  std::vector<std::string> set;
};

const char* name_of(NetKind kind) {
  switch (kind) {
    case NetKind::linear:
      return "linear";
    case NetKind::mlp:
      return "mlp";
    case NetKind::latent_class:
      return "latent_class";
    case NetKind::unet:
      return "unet";
  }
  return "";
}

void print_layers(const UNetPlan& plan) {
  for (const UNetLayer& layer : plan.layers()) {
    static const char* const kNames[] = {"conv", "residual", "attention", "down", "up"};
    std::cout << "  " << std::left << std::setw(22) << layer.name.substr(0, layer.name.size() - 1) << std::setw(10)
              << kNames[static_cast<int>(layer.kind)] << std::right << std::setw(4) << layer.in << " -> " << std::left
              << std::setw(4) << layer.out << std::right << "  " << layer.height << "x" << layer.width << '\n';
  }
}

void describe(const DescribeArguments& arguments) {
  const auto [experiment, source] = gather_experiment(arguments.config, arguments.data, arguments.set, torch::kCPU);
  const Space& space = source->space();
  const int64_t steps = total_steps(experiment.train, *source);
  const Model model = make_model(experiment, space, torch::kCPU);
  const NetCost cost = model.field().cost();
  const auto bytes = [](double numbers) { return format_bytes(static_cast<int64_t>(numbers)); };
  const auto parameters = static_cast<double>(cost.n_parameters);
  const auto rows = static_cast<double>(space.n_coordinates());
  const auto batch = static_cast<double>(experiment.train.batch);
  std::cout << "data         " << experiment.data << ": " << space.describe() << '\n'
            << "network      " << name_of(experiment.net.kind) << ", " << cost.n_parameters << " parameters ("
            << bytes(4.0 * parameters) << " in float32)\n";
  if (experiment.net.kind == NetKind::unet) print_layers(plan_unet(space, experiment.net.unet));
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

}  // namespace

void add_describe(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("describe", "Network, parameters, FLOPs and memory per sample of a config");
  auto arguments = std::make_shared<DescribeArguments>();
  command->add_option("CONFIG", arguments->config, "TOML file; without it the recipe that --data would get");
  command->add_option("--data", arguments->data, "describe it for these data instead of data.source");
  add_set_option(*command, arguments->set, "net.channels=64");
  command->footer("Example: segre describe --data 'streets?height=128&width=256'");
  command->callback([arguments] { describe(*arguments); });
}

}  // namespace segre::cli
