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
#include "segre/ood/label_surprise.h"
#include "segre/ood/outliers.h"

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
  double error = 0.0;  // as the kind of data has it
  int64_t times = 0;
  std::string seed = "1";
  std::string device = "cpu";
  std::string checkpoint = "last";
};

constexpr size_t kHelpWidth = 100;
constexpr int64_t kFirstTimes = 32;
constexpr double kTableError = 0.1;       // of a label's surprise
constexpr double kNatsBesideError = 0.5;  // of a table's nats, by which nothing is ranked
constexpr double kOtherError = 1.0;       // of the nats of images and sequences, which have many more
constexpr int64_t kMostPaired = 20'000;   // training rows among which pairs of labels are counted
constexpr int64_t kFewestPaired = 100;    // with fewer none are: a row has too many labels
constexpr double kPairWork = 1e11;        // products, a minute or so

// What the different rows among some items were found to be.
struct Found {
  torch::Tensor score, std_error;  // [K]
  torch::Tensor variable;          // [K]; undefined if the score is of all variables together
  torch::Tensor nats, nats_error;  // [K]
  std::string account;             // what was spent and what errors came of it
};

std::string account_of(const torch::Tensor& spent, const torch::Tensor& error, double wanted) {
  const double largest = error.max().item<double>();
  return concat(spent.numel(), " different rows scored with ", spent.min().item<int64_t>(), " to ",
                spent.max().item<int64_t>(), " evaluations each: standard error ",
                fixed(error.median().item<double>(), 3), " nats in the median, ", fixed(largest, 3), " at most",
                largest > wanted
                    ? concat(", where ", wanted, " was wanted: no more is spent unless --times says otherwise")
                    : "");
}

EachScores bound_of(const OutliersArguments& a, const LoadedRun& run, const torch::Tensor& labels, double error) {
  const FreeOptions options{.times = a.times > 0 ? std::min(a.times, kFirstTimes) : kFirstTimes,
                            .seed = parse_seed(a.seed)};
  return score_each(flow_of(run.model), run.times, options, labels, {.error = error, .most = a.times},
                    show_rounds("scoring"));
}

Found score_table(const OutliersArguments& a, const LoadedRun& run, const torch::Tensor& counts,
                  const torch::Tensor& labels) {
  const double wanted = a.error > 0.0 ? a.error : kTableError;
  LabelSurpriseOptions options{.error = wanted, .seed = parse_seed(a.seed)};
  if (a.times > 0) options.most = a.times;
  const auto surprise = label_surprise(flow_of(run.model), counts, labels, options, show_rounds("scoring"));
  const auto odd = largest(surprise);
  const EachScores bound = bound_of(a, run, labels, std::max(wanted, kNatsBesideError));
  return {odd.value,           odd.std_error,          odd.variable,
          -bound.scores.log_p, bound.scores.std_error, account_of(surprise.spent, odd.std_error, wanted)};
}

// Images and sequences; `training` [M]: which of the labelings training items have, with repetitions.
Found score_others(const OutliersArguments& a, const LoadedRun& run, const torch::Tensor& counts,
                   const torch::Tensor& labels, const torch::Tensor& training) {
  const double wanted = a.error > 0.0 ? a.error : kOtherError;
  const EachScores bound = bound_of(a, run, labels, wanted);
  const auto nats = -bound.scores.log_p;
  const OutsideScores scores(run.model.space(), counts, labels.index_select(0, training),
                             nats.index_select(0, training));
  return {scores(labels, nats).front().values,
          scores.recommended_error(nats, bound.scores.std_error),
          {},
          nats,
          bound.scores.std_error,
          account_of(bound.spent, bound.scores.std_error, wanted)};
}

std::vector<std::string> places_of(const DataSource& source, int64_t count) {
  std::vector<std::string> places;
  for (int64_t k = 0; k < count; ++k) places.push_back(source.place(k));
  return places;
}

// The rarest pair of every row of a table, counted among so many training rows as take no more than a minute.
void count_pairs(OddRows& rows, const DataSource& train) {
  const auto n = static_cast<double>(rows.space.n_variables());
  const double affordable = kPairWork / (n * n * static_cast<double>(rows.labels.size(0)));
  const auto most = static_cast<int64_t>(std::min(affordable, static_cast<double>(kMostPaired)));
  if (most < kFewestPaired) return;
  const auto paired = chosen_items(train, most);
  rows.n_paired = paired.size(0);
  for (int64_t k = 0; k < rows.labels.size(0); ++k) rows.pairs.push_back(rarest_pair(rows.labels[k], paired));
}

struct Ranked {
  OddRows rows;
  std::string account;
};

Ranked rank(const OutliersArguments& a, const LoadedRun& run, const DataSource& source, const DataSource& train) {
  const Space& space = run.model.space();
  const auto labels = first_items(space, source, a.items, "--data " + a.data);
  const int64_t N = labels.size(0);
  const int64_t n_calibration = train.n_items() == 0 ? a.calibration : std::min(a.calibration, train.n_items());
  const auto calibration = train.items({parse_seed(a.seed), Purpose::calibration_rows}, 0, n_calibration);
  const auto counts = count_training_labels(train);
  const auto distinct = distinct_items(torch::cat({labels, calibration}));
  const auto training = distinct.place.slice(0, N);
  const Found found = space.layout() == Layout::table ? score_table(a, run, counts, distinct.labels)
                                                      : score_others(a, run, counts, distinct.labels, training);
  const auto of = [&](const torch::Tensor& values) { return values.index_select(0, distinct.place.slice(0, 0, N)); };
  Ranked out{{.space = space,
              .labels = labels,
              .places = places_of(source, N),
              .score = of(found.score),
              .std_error = of(found.std_error),
              .percentile = percentiles_among(of(found.score), found.score.index_select(0, training)),
              .variable = found.variable.defined() ? of(found.variable) : torch::Tensor(),
              .nats = of(found.nats),
              .nats_error = of(found.nats_error),
              .independent = simple_models(space, counts)[0].of(labels)},
             concat(found.account, "; percentiles are among ", n_calibration, " training items")};
  if (space.layout() == Layout::table) count_pairs(out.rows, train);
  return out;
}

void outliers(const OutliersArguments& a, const CLI::App& command) {
  if (command.count("--error") > 0 && !(a.error > 0.0))
    fail_input("--error ", a.error, ": expected nats above 0, such as 0.1");
  std::optional<OutputFile> file;
  if (!a.out.empty()) file.emplace("--out", a.out);
  const LoadedRun run = load_run(a.run, parse_device(a.device), parse_checkpoint(a.checkpoint));
  const auto train = open_training_items(a.train, run);
  const auto source = open_source_for(run.model.space(), a.data, "--data " + a.data);
  const double start = now_seconds();
  const auto [rows, account] = rank(a, run, *source, *train);
  if (file) file->write([&, &all = rows](std::ostream& out) { write_outliers_csv(out, all); });
  (a.out == "-" ? std::cerr : std::cout) << aligned(outliers_table(rows, a.top)) << std::flush;
  std::cerr << account << "; " << format_seconds(now_seconds() - start) << '\n';
  for (const std::string& text : {unseen_pairs_text(rows), order_warning(rows, a.top)})
    if (!text.empty()) std::cerr << text << '\n';
  if (file) std::cerr << "wrote " << a.out << ", " << rows.labels.size(0) << " rows\n";
}

void add_options(CLI::App& command, OutliersArguments& a) {
  command.add_option("RUN", a.run, "directory that 'segre train' wrote")->required();
  command.add_option("--data", a.data, "SOURCE of the rows; see 'segre data --help'")->required();
  command.add_option(
      "--out", a.out,
      "FILE.csv: rank, item, place, score, std_error, percentile, column, pair, pair_seen, pair_expected, nats, "
      "nats_error, independent and the row itself; - for standard output; without it only the first rows are printed");
  command.add_option("--train", a.train, "source of training items (the run's own, without those it held out)");
  command.add_option("--items", a.items, "only the first so many; 0: all")->check(CLI::Range(int64_t{0}, kMost));
  command.add_option("--top", a.top, "rows printed (10)")->check(CLI::Range(int64_t{0}, kMost));
  command.add_option("--error", a.error,
                     "spend evaluations until each row has this standard error, in nats: of its score, if these are "
                     "tables (0.1), else of its -log p (1)");
  command
      .add_option("--times", a.times,
                  "the most evaluations per row, a multiple of 4 (of a table's scores 4096; of -log p as many as about "
                  "ten minutes allow)")
      ->check(CLI::Range(int64_t{4}, kMost));
  command.add_option("--calibration", a.calibration, "training items among which the percentiles are (1000)")
      ->check(CLI::Range(int64_t{8}, kMost));
  command.add_option("--seed", a.seed, "seed of the noise of the scores");
  command.add_option("--device", a.device, "cpu, cuda or cuda:N");
  add_checkpoint_option(command, a.checkpoint);
}

}  // namespace

void add_outliers(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("outliers", "Rank the rows of a file, oddest first");
  auto a = std::make_shared<OutliersArguments>();
  add_options(*command, *a);
  command->footer(
      wrap("The score of a row of a table is the surprise of its oddest label: log of the label's share in the "
           "training data less log of the probability that the model gives it from a slightly noisy view of the row's "
           "other labels. Rare labels do not count as odd if they go with the others, and one that does not go with "
           "them is not outweighed by others that do. The last column printed is found by counting: the pair of the "
           "row's labels that training had together the least, for what they are alone. Of images and sequences the "
           "score is the one that 'segre ood' recommends. The csv has the bound on -log p beside it, and that of "
           "independent variables.",
           kHelpWidth) +
      "\n\nExample: segre outliers runs/mine --data csv:new.csv --out odd.csv");
  command->callback([a, command] { outliers(*a, *command); });
}

}  // namespace segre::cli
