// segre evaluate: how good samples of a model are, held against data it has not seen and against those it has.

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/set_option.h"
#include "cli/training_items.h"
#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/progress.h"
#include "segre/data/relabel.h"
#include "segre/data/shuffle.h"
#include "segre/eval/evaluation.h"
#include "segre/eval/metric_text.h"
#include "segre/experiment/run.h"
#include "segre/experiment/training_data.h"
#include "segre/io/output.h"
#include "segre/report/evaluation_page.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct EvaluateArguments {
  std::string run;
  std::string data;
  std::string train;
  std::string out;
  int64_t count = 1000;
  int64_t items = 10'000;
  std::string seed;
  std::vector<std::string> set;
  std::string device = "cpu";
  std::string checkpoint = "last";
};

// All items of a source, or so many of them at random: [count, n]. `what` is the option with the source's name.
torch::Tensor held_out_items(const DataSource& source, int64_t most, const std::string& what) {
  const int64_t n = source.n_items();
  if (n == 0 && most == 0) fail_input(what, ": has no end; say how many items with --items");
  const int64_t count = n == 0 ? most : most == 0 ? n : std::min(n, most);
  const Dataset* dataset = source.dataset();
  torch::Tensor labels = dataset == nullptr ? source.rows(0, count) : dataset->labels;
  if (labels.size(0) > count) {
    auto rows = torch::empty({count}, torch::kInt64);
    for (int64_t k = 0; k < count; ++k) rows.data_ptr<int64_t>()[k] = shuffled({0, Purpose::evaluation_rows}, 0, k, n);
    labels = labels.index_select(0, rows);
  }
  return labels.to(label_type(source.space()));
}

// Adds the training items and, where training mirrored them, their mirror images. Returns what is to be said about it.
std::string add_training_items(EvaluationData& data, const DataSource& source, const std::string& name) {
  const Dataset* dataset = source.dataset();
  if (dataset == nullptr && source.n_items() == 0)
    return concat("Training items of ", name, " are drawn without end: there are none to be copied.");
  data.train = dataset != nullptr ? dataset->labels : source.rows(0, source.n_items());
  data.n_train = data.train.size(0);
  if (dataset == nullptr || !dataset->mirror) return concat(data.n_train, " training items of ", name, ".");
  const auto& shape = data.space.shape();
  data.train = torch::cat({data.train, data.train.view({-1, shape[0], shape[1]}).flip({2}).view_as(data.train)});
  return concat(data.n_train, " training items of ", name,
                ", and their mirror images, which training saw as well: both are searched for the nearest.");
}

struct Drawn {
  torch::Tensor labels;       // [count, n]
  int64_t n_evaluations = 0;  // of all samples together
};

Drawn draw(const Sampler& sampler, int64_t count, const Space& space) {
  require_memory(2.0 * static_cast<double>(count) * static_cast<double>(space.n_variables()),
                 concat(count, " samples of the ", space.describe()), torch::kCPU);
  Progress progress("sample", count);
  std::vector<torch::Tensor> all;
  int64_t n_evaluations = 0;
  const int64_t batch = 8 * sampler.rows_per_block();  // all threads have work
  for (int64_t done = 0; done < count; done += batch) {
    const auto samples = sampler.draw(static_cast<uint64_t>(done), std::min(batch, count - done));
    all.push_back(samples.labels.to(label_type(space)));
    n_evaluations += samples.n_evaluations;
    progress.update(std::min(done + batch, count));
  }
  return {torch::cat(all), n_evaluations};
}

void evaluate_run(const EvaluateArguments& arguments) {
  const fs::path plotly = plotly_file();
  const OutputFolder out("--out", arguments.out, {"metrics.csv", "report.html", "neighbours.csv", "neighbours.png"});
  const auto device = parse_device(arguments.device);
  LoadedRun run = load_run(arguments.run, device, parse_checkpoint(arguments.checkpoint));
  auto schema = schema_of(run.experiment);
  for (const auto& assignment : arguments.set) {
    if (!assignment.starts_with("sample."))
      fail_input("--set ", assignment, ": only keys of sample.* can be changed after training");
    schema.set(assignment);
  }
  if (!arguments.seed.empty()) schema.set("seed=" + arguments.seed, "--seed");
  const auto seed = static_cast<uint64_t>(run.experiment.seed);

  const Space& space = run.model.space();
  const std::string what = "--data " + arguments.data;
  const auto source = open_source_for(space, arguments.data, what);
  EvaluationData data{space, {}, held_out_items(*source, arguments.items, what), {}, 0, source->joint()};
  if (data.held_out.size(0) < 2)
    fail_input("--data ", arguments.data, ": has ", data.held_out.size(0), " item, at least 2 are needed");
  const std::string train_name = arguments.train.empty() ? run.experiment.data : arguments.train;
  std::vector<std::string> setting;
  setting.push_back(add_training_items(data, *open_training_items(arguments.train, run), train_name));
  if (arguments.data == train_name && data.train.defined())
    setting.push_back(
        "Attention: the held-out items are the training items themselves, so that nothing can be said "
        "about memorisation; give other data.");

  const double start = now_seconds();
  const Sampler sampler(run.model, run.experiment.sample, seed);
  const Drawn samples = draw(sampler, arguments.count, space);
  data.samples = samples.labels;
  setting.insert(setting.begin(),
                 concat(arguments.count, " samples of ", arguments.run, " (step ", run.step, "; ",
                        run.experiment.sample.sampler, ", ", samples.n_evaluations / arguments.count,
                        " evaluations each), held against ", data.held_out.size(0), " items of ", arguments.data, "."));
  const double sampled = now_seconds();
  const Evaluation found = evaluate(data, {.seed = seed, .device = device});
  const Page page = evaluation_page(data, found, concat("Evaluation of ", arguments.run), setting);
  write_evaluation(out.path(), data, found, page, plotly);
  print_metrics(std::cout, found.metrics);
  if (!std::cout.flush()) fail("writing to standard output failed");
  for (const std::string& paragraph : setting) std::cerr << paragraph << '\n';
  std::cerr << "sampled in " << format_seconds(sampled - start) << ", evaluated in "
            << format_seconds(now_seconds() - sampled) << "; wrote " << (out.path() / "report.html").string() << '\n';
}

}  // namespace

void add_evaluate(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("evaluate", "Hold samples of a model against held-out and training data");
  auto arguments = std::make_shared<EvaluateArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--data", arguments->data, "SOURCE of held-out items, which training has not seen")->required();
  command->add_option("--out", arguments->out, "folder for metrics.csv, report.html, neighbours.csv and .png")
      ->required();
  command->add_option("--count", arguments->count, "samples drawn")->check(CLI::Range(int64_t{2}, kMost));
  command
      ->add_option("--items", arguments->items,
                   "held-out items used, chosen at random where there are more; 0: all (10000)")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--train", arguments->train, "SOURCE of the training items, where the run's own has moved");
  command->add_option("--seed", arguments->seed, "seed of samples and permutations");
  add_set_option(*command, arguments->set, "sample.stop=end");
  command->add_option("--device", arguments->device, "cpu, cuda or cuda:N");
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer(
      "Marginal and pairwise shares, total variation, exact copies and nearest training items; every metric says "
      "which\n"
      "direction is better and what exact samples, or the held-out items, have.\n"
      "Example: segre evaluate runs/pinwheel --data pinwheel --out evaluation");
  command->callback([arguments] { evaluate_run(*arguments); });
}

}  // namespace segre::cli
