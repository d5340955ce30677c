// segre outliers: the rows of one file, oddest first.

#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/scoring.h"
#include "cli/training_items.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/core/text.h"
#include "segre/data/relabel.h"
#include "segre/data/split.h"
#include "segre/experiment/run.h"
#include "segre/io/output.h"
#include "segre/likelihood/score_each.h"
#include "segre/ood/outliers.h"
#include "segre/ood/report.h"

namespace segre::cli {
namespace {

struct OutliersArguments {
  std::string run;
  std::string data;
  std::string train;
  std::string out;
  int64_t items = 0;
  int64_t top = 10;
  int64_t calibration = 1000;
  double error = 0.1;
  int64_t times = 0;
  std::string seed = "1";
  std::string device = "cpu";
  std::string checkpoint = "last";
};

constexpr size_t kHelpWidth = 100;
constexpr int64_t kFirstTimes = 32;
constexpr int64_t kMostPaired = 20'000;  // training rows among which pairs of labels are counted

// Every labeling that occurs among the rows or the training items, scored once.
EachScores score_distinct(const OutliersArguments& a, const LoadedRun& run, const torch::Tensor& labels) {
  const FreeOptions options{.times = a.times > 0 ? std::min(a.times, kFirstTimes) : kFirstTimes,
                            .seed = parse_seed(a.seed)};
  return score_each(flow_of(run.model), run.times, options, labels, {.error = a.error, .most = a.times},
                    show_rounds("scoring"));
}

const torch::Tensor& values_of(const std::vector<Score>& scores, const std::string& key) {
  for (const Score& score : scores)
    if (score.key == key) return score.values;
  fail("no score is called ", key);
}

std::vector<std::string> places_of(const DataSource& source, int64_t count) {
  std::vector<std::string> places;
  for (int64_t k = 0; k < count; ++k) places.push_back(source.place(k));
  return places;
}

// What was spent and what errors came of it.
std::string account_of(const EachScores& scored, double wanted) {
  const auto& error = scored.scores.std_error;
  std::string text = concat(scored.spent.numel(), " different rows scored, with ", scored.spent.min().item<int64_t>(),
                            " to ", scored.spent.max().item<int64_t>(), " evaluations each: standard error ",
                            fixed(error.median().item<double>(), 3), " nats in the median, ",
                            fixed(error.max().item<double>(), 3), " at most");
  if (scored.capped) text += concat(", where ", wanted, " was wanted: no more is spent unless --times says otherwise");
  return text;
}

void outliers(const OutliersArguments& a) {
  if (!(a.error > 0.0)) fail_input("--error ", a.error, ": expected nats above 0, such as 0.1");
  std::optional<OutputFile> file;
  if (!a.out.empty()) file.emplace("--out", a.out);
  const LoadedRun run = load_run(a.run, parse_device(a.device), parse_checkpoint(a.checkpoint));
  const Space& space = run.model.space();
  const auto train = open_training_items(a.train, run);
  const auto source = open_source(a.data);
  const auto labels = first_items(space, *source, a.items, "--data " + a.data);
  const int64_t n_calibration = train->n_items() == 0 ? a.calibration : std::min(a.calibration, train->n_items());
  const auto calibration = train->items({parse_seed(a.seed), Purpose::calibration_rows}, 0, n_calibration);

  const double start = now_seconds();
  const auto distinct = distinct_items(torch::cat({labels, calibration}));
  const EachScores scored = score_distinct(a, run, distinct.labels);
  const ItemScores all = repeat_scores(scored.scores, distinct.place);
  const auto nats = -all.log_p.slice(0, 0, labels.size(0));
  const auto calibration_nats = -all.log_p.slice(0, labels.size(0));
  const auto counts = count_training_labels(*train);
  const OutsideScores scores(space, counts, calibration, calibration_nats);
  const auto score = values_of(scores(labels, nats), "recommended");
  const OddRows rows{
      .space = space,
      .labels = labels,
      .places = places_of(*source, labels.size(0)),
      .score = score,
      .std_error = scores.recommended_error(nats, all.std_error.slice(0, 0, labels.size(0))),
      .percentile = percentiles_among(score, values_of(scores(calibration, calibration_nats), "recommended")),
      .nats = nats,
      .independent = simple_models(space, counts)[0].of(labels)};
  if (file) file->write([&](std::ostream& out) { write_outliers_csv(out, rows); });
  const auto paired = space.layout() == Layout::table ? chosen_items(*train, kMostPaired) : torch::Tensor();
  (a.out == "-" ? std::cerr : std::cout) << aligned(outliers_table(rows, a.top, paired)) << std::flush;
  std::cerr << account_of(scored, a.error) << "; " << format_seconds(now_seconds() - start) << "\npercentile: among "
            << n_calibration << " training items\n"
            << scores.how_recommended() << '\n';
  if (const std::string warning = order_warning(rows, a.top); !warning.empty()) std::cerr << warning << '\n';
  if (file) std::cerr << "wrote " << a.out << ", " << labels.size(0) << " rows\n";
}

}  // namespace

void add_outliers(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("outliers", "Rank the rows of a file, oddest first");
  auto a = std::make_shared<OutliersArguments>();
  command->add_option("RUN", a->run, "directory that 'segre train' wrote")->required();
  command->add_option("--data", a->data, "SOURCE of the rows; see 'segre data --help'")->required();
  command->add_option(
      "--out", a->out,
      "FILE.csv: rank, item, place, score, std_error, percentile, nats, independent and the row itself; - "
      "for standard output; without it only the first rows are printed");
  command->add_option("--train", a->train, "source of training items (the run's own, without those it held out)");
  command->add_option("--items", a->items, "only the first so many; 0: all")->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--top", a->top, "rows printed (10)")->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--error", a->error,
                      "spend evaluations until each row's score has this standard error, in nats (0.1)");
  command
      ->add_option("--times", a->times,
                   "the most evaluations per row, a multiple of 4; without it as many as about ten minutes allow")
      ->check(CLI::Range(int64_t{4}, kMost));
  command->add_option("--calibration", a->calibration, "training items among which the percentiles are (1000)")
      ->check(CLI::Range(int64_t{8}, kMost));
  command->add_option("--seed", a->seed, "seed of the noise of the scores");
  command->add_option("--device", a->device, "cpu, cuda or cuda:N");
  add_checkpoint_option(*command, a->checkpoint);
  command->footer(
      wrap(kHowRecommendedOfTables, kHelpWidth) + "\n\n" +
      wrap("Of images and sequences it is the score of 'segre ood'. The csv has the parts: score = nats - independent "
           "for tables. The last column of the printed table is found by counting: the pair of the row's labels that "
           "training had together the least, for what they are alone.",
           kHelpWidth) +
      "\n\nExample: segre outliers runs/mine --data csv:new.csv --out odd.csv");
  command->callback([a] { outliers(*a); });
}

}  // namespace segre::cli
