// segre samplers: how many network evaluations each sampler needs.

#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/data/split.h"
#include "segre/io/csv.h"
#include "segre/io/output.h"
#include "segre/report/sampler_page.h"
#include "segre/sources/relabel.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct SamplersArguments {
  std::string run;
  std::string out;
  std::string data;
  int64_t count = 256;
  int64_t reference_steps = 1000;
  int64_t most_evaluations = 200;
  double threshold = 5e-3;
  int64_t seed = 1;
  std::string device = "cpu";
  std::string checkpoint{};
};

constexpr int64_t kMostDataItems = 10'000;

std::optional<LabelSummary> summarise_data(const std::string& name, const Space& space) {
  if (name.empty()) return std::nullopt;
  const auto source = open_source_for(space, name, "--data " + name);
  return summarise_labels(space, chosen_items(*source, kMostDataItems));
}

void write_quality_csv(const fs::path& path, const QualityTable& table) {
  write_file_whole(path, [&](std::ostream& out) {
    const auto line = [&](const std::vector<std::string>& fields) {
      for (size_t k = 0; k < fields.size(); ++k) out << (k > 0 ? "," : "") << csv_field(fields[k]);
      out << '\n';
    };
    line(table.header);
    for (const auto& row : table.rows) line(row);
  });
}

void print_table(const QualityTable& table) {
  const auto line = [&](const std::vector<std::string>& fields) {
    for (size_t k = 0; k < fields.size(); ++k)
      std::cout << (k == 0 ? std::left : std::right)
                << std::setw(k == 0 ? 10 : static_cast<int>(table.header[k].size()) + 2) << fields[k];
    std::cout << '\n';
  };
  line(table.header);
  for (const auto& row : table.rows) line(row);
}

void compare(const SamplersArguments& arguments) {
  const fs::path plotly = plotly_file();
  const OutputFolder out("--out", arguments.out, {"samplers.csv", "samplers.html"});
  const LoadedRun run = load_named(arguments.run, arguments.device, arguments.checkpoint);
  const Space& space = run.model.space();
  const auto data = summarise_data(arguments.data, space);
  const QualityOptions options{.count = arguments.count,
                               .reference_steps = arguments.reference_steps,
                               .most_evaluations = arguments.most_evaluations,
                               .sample = run.experiment.sample,
                               .seed = static_cast<uint64_t>(arguments.seed)};
  const SamplerQuality quality = with_progress(
      [&](const WorkCallbacks& callbacks) { return measure_samplers(flow_of(run.model), options, callbacks); });
  const LabelSummary* held_out = data ? &*data : nullptr;
  const QualityTable table = quality_table(quality, held_out);
  write_quality_csv(out.path() / "samplers.csv", table);
  sampler_page(quality, held_out,
               {.run = arguments.run,
                .reference_steps = arguments.reference_steps,
                .threshold = arguments.threshold,
                .n_variables = space.n_variables()})
      .write(out.path() / "samplers.html", plotly);
  print_table(table);
  std::cout << "\nevaluations at which at most " << 100.0 * arguments.threshold
            << "% of the labels differ from the reference:\n";
  for (const std::string& line : describe_knees(quality, arguments.threshold)) std::cout << "  " << line << '\n';
  std::cerr << "wrote " << (out.path() / "samplers.html").string() << '\n';
}

}  // namespace

void add_samplers(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("samplers", "Compare samplers by quality per network evaluation");
  auto arguments = std::make_shared<SamplersArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--out", arguments->out, "directory for samplers.csv and samplers.html")->required();
  command->add_option("--count", arguments->count, "samples per sampler and setting")
      ->check(CLI::Range(int64_t{1}, kMost));
  command->add_option("--reference-steps", arguments->reference_steps, "rk4 steps of the reference")
      ->check(CLI::Range(int64_t{1}, kMostSteps));
  command->add_option("--most", arguments->most_evaluations, "maximum evaluations per sample to try")
      ->check(CLI::Range(int64_t{4}, int64_t{200}));
  command->add_option("--data", arguments->data, "SOURCE of held-out items whose statistics are also shown");
  command
      ->add_option("--threshold", arguments->threshold,
                   "share of labels that may differ from the reference: the knee of a sampler is the cheapest setting "
                   "from which on the upper end of the 95% interval stays below it. At the default, five labels in a "
                   "thousand, pictures and their statistics look the same as the reference's")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", arguments->seed, "seed of the noise that all samplers start from")
      ->check(CLI::Range(int64_t{0}, kMost));
  add_device_option(*command, arguments->device);
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer("Example: segre samplers models/mnist --out samplers --count 64");
  command->callback([arguments] { compare(*arguments); });
}

}  // namespace segre::cli
