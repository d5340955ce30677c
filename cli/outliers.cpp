// segre outliers: the rows of one file, oddest first.

#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/core/text.h"
#include "segre/data/source_name.h"
#include "segre/read/readers.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/session.h"
#include "segre/tasks/training_items.h"

namespace segre::cli {
namespace {

struct OutliersArguments {
  std::string run;
  std::string data;
  std::string train;
  std::string out;
  bool json = false;
  int64_t items = 0;
  int64_t top = 10;
  int64_t calibration = 1000;
  double error = 0.0;  // 0: the default for the kind of data
  int64_t times = 0;
  std::string seed = "1";
  std::string device = "cpu";
  std::string checkpoint{};
};

void outliers(const OutliersArguments& a, const CLI::App& command, const std::shared_ptr<Ranks>& ranks) {
  if (command.count("--error") > 0 && !(a.error > 0.0))
    fail_input("--error ", a.error, ": expected nats above 0, such as 0.1");
  refuse_standard_output("--out", a.out, a.json);
  JsonOutput json(a.json);
  std::optional<RanksOutput> file;
  if (!a.out.empty()) file.emplace(*ranks, "--out", a.out);
  const Session session(load_named(ranks, a.run, a.device, a.checkpoint), a.run);
  const RunItems items = open_run_items(session.run(), a.train, "--train");
  const auto source = open_source_for(session.space(), a.data, "--data " + a.data);
  note_encoding(parse_source_name(a.data));
  const double start = now_seconds();
  const OutlierOptions options{.items = a.items,
                               .calibration = a.calibration,
                               .held_out = items.held_out,
                               .error = a.error,
                               .first = a.top,
                               .times = a.times,
                               .seed = parse_seed(a.seed),
                               .called = "--data " + a.data};
  const auto found = with_progress(
      [&](const WorkCallbacks& callbacks) { return session.outliers(*source, *items.learned, options, callbacks); });
  const auto& [rows, account, notes] = found;
  if (file) file->write([&, &all = rows](std::ostream& out) { write_outliers_csv(out, all); });
  if (json) return json.print(found);
  log_notes(notes);
  (a.out == "-" ? std::cerr : std::cout) << aligned(outliers_table(rows, a.top)) << std::flush;
  std::cerr << account << "; " << format_seconds(now_seconds() - start) << '\n';
  for (const std::string& text : {outside_text(rows), unseen_pairs_text(rows), order_warning(rows, a.top)})
    if (!text.empty()) std::cerr << text << '\n';
  if (file) std::cerr << "wrote " << a.out << ", " << rows.labels.size(0) << " rows\n";
}

void add_options(CLI::App& command, OutliersArguments& a) {
  command.add_option("RUN", a.run, "directory that 'segre train' wrote")->required();
  command.add_option("--data", a.data, "SOURCE of the rows; see 'segre data --help'")->required();
  command.add_option(
      "--out", a.out,
      "FILE.csv: rank, item, place, score, std_error, percentile, column, pair, pair_seen, pair_expected, nats, "
      "nats_error, independent, outside (values outside the range of training) and the row itself; - for standard "
      "output; by default only the first rows are printed");
  add_json_option(command, a.json);
  command.add_option("--train", a.train, "SOURCE of training items (the run's own, without held-out items)");
  command.add_option("--items", a.items, "only the first N rows; 0: all")->check(CLI::Range(int64_t{0}, kMost));
  command.add_option("--top", a.top, "number of rows to print (10)")->check(CLI::Range(int64_t{0}, kMost));
  command.add_option(
      "--error", a.error,
      "add evaluations until each row has this standard error, in nats: of the score for tables, of -log "
      "p otherwise (1); by default those rows of a table that may be among the first have 0.1");
  command
      .add_option("--times", a.times,
                  "maximum number of evaluations per row, a multiple of 4 (4096 for scores of tables; for -log p, as "
                  "many as fit in about ten minutes, of tables of many rows 32), after a trial of a quarter as many")
      ->check(CLI::Range(int64_t{4}, kMost));
  command
      .add_option("--calibration", a.calibration,
                  "items used for the percentiles, held-out ones where there are any (1000)")
      ->check(CLI::Range(int64_t{8}, kMost));
  command.add_option("--seed", a.seed, "seed of the scores' noise");
  add_device_option(command, a.device);
  add_checkpoint_option(command, a.checkpoint);
}

}  // namespace

void add_outliers(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("outliers", "Rank the rows of a file, oddest first");
  auto a = std::make_shared<OutliersArguments>();
  add_options(*command, *a);
  command->footer(
      wrap("For a table, the score of a row is the surprise of its oddest label: the log of the label's share in the "
           "training data minus the log of the probability that the model gives it from a slightly noisy view of the "
           "row's other labels. A rare label that fits the others does not count as odd, and one that does not fit is "
           "not outweighed by others that do. The last printed column is found by counting: the pair of the row's "
           "labels that is rarest in training, relative to how common each label is. For images and sequences, the "
           "score is the one that 'segre ood' recommends. A row with a number or date far outside the range of "
           "training, "
           "by more than the width of the outermost interval, comes before all others, at percentile 100. The CSV also "
           "has the bound on -log p, and -log p of independent variables.",
           kHelpWidth) +
      "\n\nExample: segre outliers runs/mine --data csv:new.csv --out odd.csv");
  command->callback([a, command] { over_ranks([&](const auto& ranks) { outliers(*a, *command, ranks); }); });
}

}  // namespace segre::cli
