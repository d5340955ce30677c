// segre complete: fills in what is unknown about items.

#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/label_output.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/set_option.h"
#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/data/source_name.h"
#include "segre/io/npy.h"
#include "segre/read/readers.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/given.h"
#include "segre/tasks/session.h"

namespace segre::cli {
namespace {

struct CompleteArguments {
  std::string run;
  std::string data;
  std::string out;
  bool json = false;
  int64_t draws = 1;
  std::string best;  // "", "cells" or "row"
  std::string probabilities;
  std::string evidence;
  double noise = 0.0;
  std::string given;
  int64_t items = 0;
  std::string seed = "1";
  std::vector<std::string> set;
  std::string device = "cpu";
  std::string checkpoint{};
};

int64_t n_draws(const CompleteArguments& a) { return a.best.empty() ? a.draws : 0; }

Best best_of(const CompleteArguments& a) {
  return a.best.empty() ? Best::cells : choose<Best>("--best", a.best, {{"cells", Best::cells}, {"row", Best::row}});
}

bool is_plain_table(const CompleteArguments& a, const Space& space) {
  return parse_source_name(a.data).kind() == "csv" && space.is(PartKind::columns) && a.evidence.empty();
}

SourceName table_name(const CompleteArguments& a) {
  const SourceName name = parse_source_name(a.data);
  return a.items > 0 ? name.with("limit", std::to_string(std::min(a.items, name.limit()))) : name;
}

// A table goes through row by row and keeps its form.
int64_t complete_table(const CompleteArguments& a, const Completer& completer, RanksOutput* out,
                       RanksOutput* probabilities) {
  CompleteOutputs outputs{.draws = n_draws(a), .best = best_of(a)};
  int64_t n = 0;
  const auto work = [&] {
    n = with_progress([&](const WorkCallbacks& callbacks) {
      return complete_csv(completer, table_name(a), "--data " + a.data, outputs, parse_seed(a.seed), callbacks);
    });
  };
  const auto with_probabilities = [&] {
    if (probabilities == nullptr) return work();
    probabilities->write([&](std::ostream& stream) {
      outputs.probabilities = &stream;
      work();
    });
  };
  if (out == nullptr) {
    with_probabilities();
  } else {
    out->write([&](std::ostream& stream) {
      outputs.out = &stream;
      with_probabilities();
    });
  }
  return n;
}

// The items with their numbers, and what is known about their labels besides.
ItemBatch read_items(const CompleteArguments& a, const Space& space, bool writes_text) {
  const std::string what = "--data " + a.data;
  const auto source = open_source_for(space, a.data, what, Unknowns::allow, Lacking::unknown);
  if (writes_text) note_encoding(parse_source_name(a.data));
  ItemBatch items{.labels = first_items(space, *source, a.items, what, Unknowns::allow)};
  const auto file_rows = file_rows_of(*source, items.labels.size(0));
  if (!a.evidence.empty())
    items.soft = check_evidence(space, read_npy_numbers(a.evidence), file_rows, "--evidence " + a.evidence);
  for (const int64_t row : file_rows) items.rows.push_back(row + 1);
  return items;
}

int64_t complete_in_memory(const CompleteArguments& a, const Completer& completer, LabelOutput* out,
                           RanksOutput* probabilities) {
  const Space& space = completer.space();
  const bool writes_text = probabilities != nullptr || (out != nullptr && out->format() == LabelFormat::csv);
  ItemsInMemory items(read_items(a, space, writes_text));
  const CompletionWanted wanted{
      .draws = n_draws(a), .best = best_of(a), .labels = out != nullptr, .probabilities = probabilities != nullptr};
  const int64_t n_results = items.count() * std::max<int64_t>(1, wanted.draws);
  if (out != nullptr) check_label_format(out->format(), "--out", a.out, space, n_results);
  const auto run = [&](const LabelOutput::Add& add) {
    const auto go = [&](std::ostream* stream) {
      with_progress([&](const WorkCallbacks& callbacks) {
        const auto use = [&](const CompletedItems& done) {
          if (stream != nullptr)
            write_probabilities(*stream, space, done.known, done.probabilities, done.first == 0, done.rows);
          if (add) add(done.labels.flatten(0, 1));
        };
        return complete_items(completer, items, wanted, use, callbacks);
      });
    };
    if (probabilities == nullptr) return go(nullptr);
    probabilities->write([&](std::ostream& stream) { go(&stream); });
  };
  if (out == nullptr) {
    run(nullptr);
  } else {
    out->write(space, n_results, run, wanted.draws > 1 ? wanted.draws : 0);
  }
  return items.count();
}

// Where completed items and probabilities go, and who writes them.
int64_t write_completed(const CompleteArguments& a, const Completer& completer, const std::shared_ptr<Ranks>& ranks,
                        RanksOutput* probabilities) {
  if (is_plain_table(a, completer.space())) {
    std::optional<RanksOutput> out;
    if (!a.out.empty() && label_format("--out", a.out) != LabelFormat::csv)
      fail_input("--out ", a.out, ": tables are completed to CSV: use FILE.csv or -");
    if (!a.out.empty()) out.emplace(*ranks, "--out", a.out);
    return complete_table(a, completer, out ? &*out : nullptr, probabilities);
  }
  std::optional<LabelOutput> out;
  if (!a.out.empty()) out.emplace(*ranks, "--out", a.out);
  return complete_in_memory(a, completer, out ? &*out : nullptr, probabilities);
}

void print_completed(const CompleteArguments& a, const Session& session, const CompleteOptions& options,
                     JsonOutput& json) {
  const Space& space = session.space();
  const std::unique_ptr<ItemStream> items =
      is_plain_table(a, space) ? stream_csv(table_name(a), space, "--data " + a.data)
                               : std::make_unique<ItemsInMemory>(read_items(a, space, /*writes_text=*/true));
  const CompleteRequest request{
      options, {.draws = n_draws(a), .best = best_of(a), .probabilities = space.is(PartKind::columns)}};
  json.print(
      with_progress([&](const WorkCallbacks& callbacks) { return session.complete(*items, request, callbacks); }));
}

std::string how_completed(const CompleteArguments& a) {
  if (a.best.empty()) return "";
  return best_of(a) == Best::row ? " with a likely row each" : " with the best answer for each cell on its own";
}

void complete(const CompleteArguments& a, const CLI::App& command, const std::shared_ptr<Ranks>& ranks) {
  if (!a.best.empty() && command.count("--draws") > 0) fail_input("--best and --draws: choose one of them");
  best_of(a);  // refuses other words before the model is read
  refuse_out("--out", a.out, a.json);
  refuse_out("--probabilities", a.probabilities, a.json);
  if (a.out.empty() && a.probabilities.empty() && !a.json)
    fail_input("give --out FILE, --probabilities FILE.csv, or both");
  if (a.out == a.probabilities && !a.json)
    fail_input("--out and --probabilities ", a.out, ": give two different files");
  JsonOutput json(a.json);
  std::optional<RanksOutput> probabilities;
  if (!a.probabilities.empty()) probabilities.emplace(*ranks, "--probabilities", a.probabilities);
  LoadedRun run = load_named(ranks, a.run, a.device, a.checkpoint);
  set_sample_keys(run.experiment, a.set);
  const Session session(std::move(run), a.run);
  CompleteOptions options{.sample = session.sampling(), .seed = parse_seed(a.seed), .noise = a.noise};
  if (!a.given.empty()) {
    GivenTerms terms = parse_given(session.space(), {a.given}, "--given");
    options.given = terms.variables;
    options.condition = std::move(terms.condition);
  }
  if (json) return print_completed(a, session, options, json);
  const auto completer = session.completer(options);
  const double start = now_seconds();
  const int64_t n = write_completed(a, *completer, ranks, probabilities ? &*probabilities : nullptr);
  const double seconds = now_seconds() - start;
  std::cerr << n << " items completed" << how_completed(a) << " in " << format_seconds(seconds) << ", "
            << std::setprecision(3) << static_cast<double>(n) / seconds << " per second\n";
}

}  // namespace

void add_complete(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand(
      "complete", "Fill in what is unknown: missing cells of a table, holes in images, noisy labels");
  auto a = std::make_shared<CompleteArguments>();
  command->add_option("RUN", a->run, "directory that 'segre train' wrote")->required();
  command
      ->add_option("--data", a->data,
                   "SOURCE of the items; missing cells of csv:, -1 in npy: and the value of unknown= in png: are "
                   "unknown")
      ->required();
  command->add_option(
      "--out", a->out,
      "completed items: FILE.csv, FILE.npy, FILE.png (a grid of images), a folder (one label map each), "
      "or - for CSV on standard output; a table keeps its header, columns and order (with --evidence, it has only "
      "the columns of the model)");
  add_json_option(*command, a->json);
  command->add_option("--draws", a->draws, "draw this many completions of each item; a table gets a first column draw")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  command->add_flag(
      "--best{cells}", a->best,
      "instead, the most likely label of each cell on its own given what is known, and the median of each "
      "number; --best=row: a likely row, whose most certain cell is filled first, then the next given "
      "that one, and so on: cell by cell, a row may be impossible");
  command->add_option("--probabilities", a->probabilities,
                      "FILE.csv (row, column, label, probability): the distribution of each unknown cell");
  command->add_option("--evidence", a->evidence,
                      "FILE.npy of log-likelihoods of all labels, [rows, labels of all variables] or [rows, "
                      "variables, labels]: uncertain observations, such as a classifier's");
  command->add_option("--noise", a->noise,
                      "labels in the data were replaced with this probability by one drawn uniformly: draw what they "
                      "were");
  command->add_option("--given", a->given,
                      "take only these from the data: columns or positions (2,5-9), separated by commas; upper, lower, "
                      "left or right half of an image; or a mask, FILE.png or FILE.npy, whose pixels other than 0 are "
                      "taken. What holds for all items: NAME=LABEL, NAME=A|B, NAME!=LABEL, NAME=30..60, NAME>30, ...");
  command->add_option("--items", a->items, "only the first N items; 0: all")->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--seed", a->seed, "seed; a completion depends only on it, the item and the draw");
  add_set_option(*command, a->set, "sample.steps=20");
  add_device_option(*command, a->device);
  add_checkpoint_option(*command, a->checkpoint);
  command->footer(
      "Example: segre complete models/mnist --data 'glyphs?pad=2' --items 8 --given upper --draws 8 --out digits.png");
  command->callback([a, command] { over_ranks([&](const auto& ranks) { complete(*a, *command, ranks); }); });
}

}  // namespace segre::cli
