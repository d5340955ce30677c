// segre evaluate: compares samples of a model with held-out and training data.

#include <filesystem>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/set_option.h"
#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/eval/metric_text.h"
#include "segre/io/output.h"
#include "segre/report/evaluation_page.h"
#include "segre/tasks/session.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct EvaluateArguments {
  std::string run;
  std::string data;
  std::string train;
  std::string out;
  bool json = false;
  int64_t count = 1000;
  int64_t items = 10'000;
  std::string seed;
  std::vector<std::string> set;
  std::string device = "cpu";
  std::string checkpoint{};
};

// The pages, for a folder.
void write_files(const EvaluateArguments& arguments, const RunEvaluation& result, const fs::path& folder,
                 const fs::path& plotly) {
  const Page page = evaluation_page(result.data, result.found, concat("Evaluation of ", arguments.run), result.setting);
  write_evaluation(folder, result.data, result.found, page, plotly);
}

void evaluate(const EvaluateArguments& arguments, const std::shared_ptr<Ranks>& ranks) {
  JsonOutput json(arguments.json);
  const fs::path plotly = arguments.out.empty() ? fs::path() : plotly_file();
  const std::vector<std::string> files{"metrics.csv", "report.html", "neighbours.csv", "neighbours.png"};
  std::optional<OutputFolder> out;
  if (ranks->is_first() && !arguments.out.empty()) out.emplace("--out", arguments.out, files);
  LoadedRun run = load_named(ranks, arguments.run, arguments.device, arguments.checkpoint);
  set_sample_keys(run.experiment, arguments.set);
  if (!arguments.seed.empty()) run.experiment.seed = static_cast<int64_t>(parse_seed(arguments.seed));
  const Session session(std::move(run), arguments.run);
  const EvaluateRunOptions options{.data = arguments.data,
                                   .train = arguments.train,
                                   .count = arguments.count,
                                   .items = arguments.items,
                                   .sample = session.sampling(),
                                   .seed = static_cast<uint64_t>(session.run().experiment.seed),
                                   .called = "--data",
                                   .train_called = "--train"};
  const double start = now_seconds();
  const RunEvaluation result =
      with_progress([&](const WorkCallbacks& callbacks) { return session.evaluate(options, callbacks); });
  const double seconds = now_seconds() - start;
  if (out) write_files(arguments, result, out->path(), plotly);
  if (json) return json.print(result);
  if (!out) return;
  log_notes(result.notes);
  print_metrics(std::cout, result.found.metrics);
  if (!std::cout.flush()) fail("writing to standard output failed");
  for (const std::string& paragraph : result.setting) std::cerr << paragraph << '\n';
  std::cerr << "sampled in " << format_seconds(result.sample_seconds) << ", evaluated in "
            << format_seconds(seconds - result.sample_seconds) << "; wrote " << (out->path() / "report.html").string()
            << '\n';
}

}  // namespace

void add_evaluate(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("evaluate", "Compare samples of a model with held-out and training data");
  auto arguments = std::make_shared<EvaluateArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--data", arguments->data, "SOURCE of held-out items, not seen in training")->required();
  command->add_option("--out", arguments->out, "folder for metrics.csv, report.html, neighbours.csv and .png");
  add_json_option(*command, arguments->json);
  command->add_option("--count", arguments->count, "number of samples")->check(CLI::Range(int64_t{2}, kMost));
  command->add_option("--items", arguments->items, "maximum number of held-out items, chosen at random; 0: all (10000)")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--train", arguments->train, "SOURCE of the training items, if the run's own have moved");
  command->add_option("--seed", arguments->seed, "seed of samples and permutations");
  add_set_option(*command, arguments->set, "sample.stop=end");
  add_device_option(*command, arguments->device);
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer(
      "Reports marginal and pairwise shares, total variation, exact copies and nearest training items. For every "
      "metric,\nthe better direction and its value for exact samples or the held-out items.\n"
      "Example: segre evaluate runs/pinwheel --data pinwheel --out evaluation");
  command->callback([arguments] {
    require_out(arguments->out, arguments->json);
    over_ranks([&](const auto& ranks) { evaluate(*arguments, ranks); });
  });
}

}  // namespace segre::cli
