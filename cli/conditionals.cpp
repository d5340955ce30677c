// segre conditionals: every conditional of a model beside the exact one.

#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/set_option.h"
#include "segre/core/progress.h"
#include "segre/io/csv.h"
#include "segre/io/output.h"
#include "segre/tasks/check_conditionals.h"

namespace segre::cli {
namespace {

struct ConditionalsArguments {
  std::string run;
  std::string out;
  int64_t samples = 100'000;
  int64_t patterns = 0;
  std::string seed = "1";
  std::vector<std::string> set;
  std::string device = "cpu";
  std::string checkpoint{};
};

void write_conditionals_csv(std::ostream& out, const Space& space, const ConditionalsResult& result) {
  for (int64_t i = 0; i < space.n_variables(); ++i) out << csv_field(space.variable_name(i)) << ',';
  out << "total_variation,floor,marginal_kl\n" << std::setprecision(6);
  for (const ConditionalCheck& check : result.checks) {
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      const auto label = check.known[i].item<int64_t>();
      out << (label == kUnknown ? "" : csv_field(space.label_name(i, label))) << ',';
    }
    out << check.total_variation << ',' << check.total_variation_floor << ',' << check.marginal_kl << '\n';
  }
}

void conditionals(const ConditionalsArguments& a) {
  std::optional<OutputFile> file;
  if (!a.out.empty()) file.emplace("--out", a.out);
  LoadedRun run = load_named(a.run, a.device, a.checkpoint);
  set_sample_keys(run.experiment, a.set);
  const auto result = with_progress([&](const WorkCallbacks& callbacks) {
    return check_conditionals(run, {.samples = a.samples, .patterns = a.patterns, .seed = parse_seed(a.seed)},
                              callbacks);
  });
  if (file) file->write([&](std::ostream& out) { write_conditionals_csv(out, run.model.space(), result); });
  std::ostream& out = file ? std::cerr : std::cout;
  out << result.checks.size() << " conditionals, " << a.samples << " samples each: total variation " << std::fixed
      << std::setprecision(4) << result.mean << " on average (exact samples: " << result.floor << "), " << result.worst
      << " at worst; marginals of single cells: KL " << std::setprecision(6) << result.mean_kl << " nats on average\n";
}

}  // namespace

void add_conditionals(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand(
      "conditionals", "Compare every conditional of a model with that of the known distribution it learned");
  auto a = std::make_shared<ConditionalsArguments>();
  command->add_option("RUN", a->run, "directory that 'segre train' wrote, trained on a known joint distribution")
      ->required();
  command->add_option("--out", a->out,
                      "FILE.csv: the known labels, total variation, its noise floor, and the mean KL divergence of the "
                      "marginals; or - for standard output");
  command->add_option("--samples", a->samples, "samples of each conditional")->check(CLI::Range(int64_t{1}, kMost));
  command->add_option("--patterns", a->patterns, "at most this many sets of known labels, chosen at random; 0: all")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--seed", a->seed, "seed of the samples");
  add_set_option(*command, a->set, "sample.steps=20");
  add_device_option(*command, a->device);
  add_checkpoint_option(*command, a->checkpoint);
  command->footer("Example: segre conditionals runs/weather --samples 10000 --out conditionals.csv");
  command->callback([a] { conditionals(*a); });
}

}  // namespace segre::cli
