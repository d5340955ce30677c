#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/scoring.h"
#include "cli/training_items.h"
#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/core/text.h"
#include "segre/data/relabel.h"
#include "segre/experiment/run.h"
#include "segre/io/output.h"
#include "segre/likelihood/free_bound.h"
#include "segre/ood/report.h"
#include "segre/ood/verdict.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct OodArguments {
  std::string run;
  std::string inside;
  std::string outside;
  std::string train;
  std::string out;
  int64_t items = 1000;
  int64_t calibration = 512;
  int64_t times = 32;
  std::string seed = "1";
  std::string device = "cpu";
  std::string checkpoint = "last";
};

constexpr size_t kHelpWidth = 100;
constexpr int64_t kCallsAtOnce = 8;  // items scored between two looks at the clock, in calls

// Some items, spread evenly over a source: neighbours in a file are often alike.
struct Chosen {
  torch::Tensor numbers;  // [N] int64
  torch::Tensor labels;   // [N, n] int64
};

// `what` is the option and the source's name, for messages.
Chosen choose_items(const DataSource& source, int64_t asked, const std::string& what) {
  const int64_t there = source.n_items();
  if (there == 0 && asked == 0) fail_input(what, ": has no end; say how many with --items N");
  const int64_t count = there == 0 ? asked : asked == 0 ? there : std::min(asked, there);
  require_memory(8.0 * static_cast<double>(count) * static_cast<double>(source.space().n_variables()),
                 concat(what, ": holding ", count, " items"), torch::kCPU);
  const auto in_order = torch::arange(count);
  if (there == 0 || count == there) return {in_order, source.rows(0, count)};
  const auto numbers = (in_order * there).div(count, "floor");
  std::vector<torch::Tensor> rows;
  for (int64_t k = 0; k < count; ++k) rows.push_back(source.rows(numbers[k].item<int64_t>(), 1));
  return {numbers, torch::cat(rows)};
}

// Items of the source that an option names, their labels numbered as the model's.
Chosen choose_items(const std::string& option, const std::string& name, const Space& space, int64_t asked) {
  const std::string what = option + " " + name;
  return choose_items(*open_source_for(space, name, what), asked, what);
}

ItemScores bound_of(const FreeBound& bound, const torch::Tensor& labels, const std::string& what) {
  return score_in_parts(bound, labels, kCallsAtOnce * bound.items_per_call(), what);
}

ScoredItems score(const std::string& name, const char* what, const Chosen& items, const FreeBound& bound,
                  const OutsideScores& scores) {
  const ItemScores found = bound_of(bound, items.labels, what);
  const auto nats = -found.log_p;
  return {name, items.numbers, items.labels, nats, found.std_error, scores(items.labels, nats)};
}

void ood(const OodArguments& arguments) {
  const fs::path plotly = plotly_file();
  NewOutputFolder out("--out", arguments.out);
  const uint64_t seed = parse_seed(arguments.seed);
  const LoadedRun run = load_run(arguments.run, parse_device(arguments.device), parse_checkpoint(arguments.checkpoint));
  const Space& space = run.model.space();
  const auto train = open_training_items(arguments.train, run);  // calibrates the scores
  const Chosen inside = choose_items("--inside", arguments.inside, space, arguments.items);
  const Chosen outside = choose_items("--outside", arguments.outside, space, arguments.items);
  const int64_t n_calibration =
      train->n_items() == 0 ? arguments.calibration : std::min(arguments.calibration, train->n_items());
  const auto calibration = train->items({seed, Purpose::calibration_rows}, 0, n_calibration);

  const FreeBound bound(flow_of(run.model), run.times, {.times = arguments.times, .seed = seed});
  const OutsideScores scores(space, count_training_labels(*train), calibration,
                             -bound_of(bound, calibration, "calibrate").log_p);
  OutsideReport report{space,
                       arguments.run,
                       score(arguments.inside, "inside", inside, bound, scores),
                       score(arguments.outside, "outside", outside, bound, scores),
                       {},
                       scores.how_recommended()};
  report.results = compare(report.inside.scores, report.outside.scores);
  out.write([&](const fs::path& folder) { write_outside_report(folder, report, plotly); });
  std::cout << aligned(auroc_table(report.results)) << std::flush;
  std::cerr << verdict(report.results) << '\n'
            << report.how_recommended << "\nwrote " << arguments.out << ": report.html, auroc.csv, scores.csv"
            << (space.layout() == Layout::image ? ", items.png\n" : "\n");
}

}  // namespace

void add_ood(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("ood", "Tell items outside the learned distribution from those inside");
  auto arguments = std::make_shared<OodArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--inside", arguments->inside, "source of items of the kind that was learned")->required();
  command->add_option("--outside", arguments->outside, "source of items of another kind")->required();
  command->add_option("--out", arguments->out, "new folder for report.html, auroc.csv, scores.csv, items.png")
      ->required();
  command->add_option("--train", arguments->train,
                      "source of training items (the run's own, without those it held out)");
  command->add_option("--items", arguments->items, "score N items of each source, spread evenly over it; 0: all (1000)")
      ->check(CLI::Range(int64_t{0}, kMost));
  command
      ->add_option("--calibration", arguments->calibration,
                   "training items on which the recommended score is fitted (512)")
      ->check(CLI::Range(int64_t{8}, kMost));
  command
      ->add_option("--times", arguments->times,
                   "evaluations of the network per item, a multiple of 4; more make scores less noisy (32)")
      ->check(CLI::Range(int64_t{4}, kMost));
  command->add_option("--seed", arguments->seed, "seed; a score depends on it, the item and the training data alone");
  command->add_option("--device", arguments->device, "cpu, cuda or cuda:N");
  add_checkpoint_option(*command, arguments->checkpoint);
  const auto paragraph = [](const std::string& text) { return wrap(text, kHelpWidth) + "\n\n"; };
  command->footer(
      paragraph(kWhyNotRawLikelihood) + paragraph(kHowRecommended) + paragraph(kHowRecommendedOfTables) +
      paragraph(
          "The table also has the nats themselves, their ratio and difference to simple models of the item, "
          "their distance from the mean on training items, and baselines that need no model. The verdict compares "
          "the recommended score with them on the same items, and says that one wins only where the interval of the "
          "difference does and the difference is a tenth or more of what the other gets wrong.") +
      "Example, after 'segre data fetch NAME --to data' for mnist and omniglot:\n  segre ood models/mnist --inside "
      "'idx:data/t10k-images-idx3-ubyte.gz?pad=2' \\\n"
      "  --outside 'omniglot:data/images_background_small1.zip?pad=2' --out ood");
  command->callback([arguments] { ood(*arguments); });
}

}  // namespace segre::cli
