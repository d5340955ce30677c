#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/set_option.h"
#include "segre/core/memory.h"

namespace segre::cli {
namespace {

struct DescribeArguments {
  std::string config;
  std::string data;
  std::vector<std::string> set;
};

void describe(const DescribeArguments& arguments) {
  const Request request{
      .config = arguments.config, .data = arguments.data, .set = arguments.set, .set_called = "--set"};
  require_data(request);
  const auto [experiment, source] = resolve(request, torch::kCPU);
  const Space& space = source->space();
  const int64_t steps = total_steps(experiment.train, *source);
  const Model model = make_model(experiment, space, torch::kCPU);
  const NetCost cost = model.field().cost();
  const auto bytes = [](double numbers) { return format_bytes(static_cast<int64_t>(numbers)); };
  const auto parameters = static_cast<double>(cost.n_parameters);
  const auto rows = static_cast<double>(space.n_coordinates());
  const auto batch = static_cast<double>(experiment.train.batch);
  std::cout << "data         " << experiment.data << ": " << space.describe() << '\n'
            << "network      " << experiment.net.kind << ", " << cost.n_parameters << " parameters ("
            << bytes(4.0 * parameters) << " in float32)\n";
  for (const std::string& layer : model.field().layers()) std::cout << "  " << layer << '\n';
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
  auto* command = app.add_subcommand("describe", "Print network, parameters, FLOPs and memory per sample");
  auto arguments = std::make_shared<DescribeArguments>();
  command->add_option("CONFIG", arguments->config, "TOML file; default: the recipe for --data");
  command->add_option("--data", arguments->data, "SOURCE to use instead of data.source");
  add_set_option(*command, arguments->set, "net.channels=64");
  command->footer("Example: segre describe --data 'streets?height=128&width=256'");
  command->callback([arguments] { describe(*arguments); });
}

}  // namespace segre::cli
