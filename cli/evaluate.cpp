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
#include "segre/report/table_page.h"
#include "segre/tasks/session.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct EvaluateArguments {
  std::string run;
  std::string data;
  std::string train;
  std::string samples;
  std::string target;
  std::string out;
  bool json = false;
  int64_t count = 0;
  int64_t items = 10'000;
  std::string seed;
  std::vector<std::string> set;
  std::string device = "cpu";
  std::string checkpoint{};
};

// The pages, for a folder.
void write_files(const EvaluateArguments& arguments, const RunEvaluation& result, const fs::path& folder,
                 const fs::path& plotly) {
  const std::string title = concat("Evaluation of ", arguments.samples.empty() ? arguments.run : arguments.samples);
  if (!result.table)
    return write_evaluation(folder, result.data, result.found,
                            evaluation_page(result.data, result.found, title, result.setting), plotly);
  const auto& [data, found] = *result.table;
  write_table_evaluation(folder, data, found, result.data, result.found,
                         table_page(data, found, result.found, title, result.setting), plotly);
}

void print_lines(const std::vector<std::string>& lines, const std::string& before) {
  for (const std::string& line : lines) std::cout << before << line << '\n';
}

void print_result(const RunEvaluation& result) {
  print_metrics(std::cout, result.found.metrics);
  if (result.table) {
    std::cout << '\n';
    print_lines(result.table->found.verdicts, "");
    print_lines(result.table->found.left_out, "Left out: ");
  }
  if (!std::cout.flush()) fail("writing to standard output failed");
}

// The samples of a run, or the rows of --samples with what the run knows of the table.
RunEvaluation evaluate_with(const EvaluateArguments& arguments, EvaluateRunOptions options,
                            const std::shared_ptr<Ranks>& ranks) {
  if (arguments.run.empty())
    return with_progress([&](const WorkCallbacks& callbacks) { return evaluate_samples(options, callbacks); });
  LoadedRun run = load_named(ranks, arguments.run, arguments.device, arguments.checkpoint);
  set_sample_keys(run.experiment, arguments.set);
  if (!arguments.seed.empty()) run.experiment.seed = static_cast<int64_t>(parse_seed(arguments.seed));
  const Session session(std::move(run), arguments.run);
  options.sample = session.sampling();
  options.seed = static_cast<uint64_t>(session.run().experiment.seed);
  return with_progress([&](const WorkCallbacks& callbacks) { return session.evaluate(options, callbacks); });
}

void evaluate(const EvaluateArguments& arguments, const std::shared_ptr<Ranks>& ranks) {
  JsonOutput json(arguments.json);
  const fs::path plotly = arguments.out.empty() ? fs::path() : plotly_file();
  const std::vector<std::string> files{"metrics.csv", "columns.csv", "report.html", "neighbours.csv", "neighbours.png"};
  std::optional<OutputFolder> out;
  if (ranks->is_first() && !arguments.out.empty()) out.emplace("--out", arguments.out, files);
  const EvaluateRunOptions options{.data = arguments.data,
                                   .train = arguments.train,
                                   .samples = arguments.samples,
                                   .count = arguments.count,
                                   .items = arguments.items,
                                   .seed = arguments.seed.empty() ? 1 : parse_seed(arguments.seed),
                                   .called = "--data",
                                   .train_called = "--train",
                                   .samples_called = "--samples",
                                   .target = arguments.target};
  const double start = now_seconds();
  const RunEvaluation result = evaluate_with(arguments, options, ranks);
  const double seconds = now_seconds() - start;
  if (out) write_files(arguments, result, out->path(), plotly);
  if (json) return json.print(result);
  if (!out) return;
  log_notes(result.notes);
  print_result(result);
  for (const std::string& paragraph : result.setting) std::cerr << paragraph << '\n';
  std::cerr << "sampled in " << format_seconds(result.sample_seconds) << ", evaluated in "
            << format_seconds(seconds - result.sample_seconds) << "; wrote " << (out->path() / "report.html").string()
            << '\n';
}

}  // namespace

void add_evaluate(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("evaluate", "Compare samples of a model with held-out and training data");
  auto arguments = std::make_shared<EvaluateArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote; needed without --samples");
  command->add_option("--data", arguments->data, "SOURCE of held-out items, not seen in training")->required();
  command->add_option("--out", arguments->out, "folder for report.html, metrics.csv and other tables");
  add_json_option(*command, arguments->json);
  command->add_option("--samples", arguments->samples, "csv:FILE of rows to evaluate instead of the model's samples");
  command->add_option(
      "--target", arguments->target,
      "column to predict by trees trained on samples (the last one, if it has 2 to 20 labels), or none");
  command
      ->add_option("--count", arguments->count,
                   "number of samples (as many as training rows, 1000 to 10000; 1000 unless it is a table)")
      ->check(CLI::Range(int64_t{2}, kMost));
  command->add_option("--items", arguments->items, "maximum number of held-out items, chosen at random; 0: all (10000)")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--train", arguments->train, "SOURCE of the training items, if the run's own have moved");
  command->add_option("--seed", arguments->seed, "seed of samples and permutations");
  add_set_option(*command, arguments->set, "sample.stop=end");
  add_device_option(*command, arguments->device);
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer(
      "Reports marginal and pairwise shares, total variation, exact copies and nearest training items; for tables "
      "also\n"
      "mutual information, a two-sample test by boosted trees, what trees learn from samples, and a membership "
      "attack.\n"
      "Every metric stands beside its value for exact samples or the held-out items, for training rows, and for\n"
      "independent columns. --samples evaluates any table; without RUN, give the training rows as --train.\n"
      "Example: segre evaluate runs/pinwheel --data pinwheel --out evaluation");
  command->callback([arguments] {
    if (arguments->run.empty() && arguments->samples.empty()) throw CLI::RequiredError("RUN");
    require_out(arguments->out, arguments->json);
    over_ranks([&](const auto& ranks) { evaluate(*arguments, ranks); });
  });
}

}  // namespace segre::cli
