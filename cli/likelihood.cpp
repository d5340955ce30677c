// segre likelihood: how likely items are.

#include <cmath>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/trace_options.h"
#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/io/npy.h"
#include "segre/report/picture.h"
#include "segre/sources/relabel.h"
#include "segre/space/bins.h"
#include "segre/tasks/given.h"
#include "segre/tasks/session.h"

namespace segre::cli {
namespace {

struct LikelihoodArguments {
  std::string run;
  std::string data;
  bool enumerate = false;
  std::string bound = "free";
  std::string out;
  int64_t items = 0;
  std::string error;
  bool each = false;
  int64_t times = 0;
  int64_t draws = 0;
  std::string control = "on";
  int64_t panels = 2;
  int64_t samples = 100'000;
  double t1 = 0.0;
  std::string mass = "0.8";
  TraceArguments trace;
  std::string average = "mean";
  std::string readout = "matched";
  std::string seed = "1";
  std::string device = "cpu";
  std::string precision = "auto";
  std::string checkpoint{};
  std::string given;
  std::string only;
  std::string order;
  std::string per_variable;
  bool json = false;
};

// "0.05" nats, or "2%" of the nats per item.
ErrorGoal parse_error(const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string number = percent ? text.substr(0, text.size() - 1) : text;
  const auto value = parse_number(number);
  if (!value || !(*value > 0.0))
    fail_input("--error ", text, ": expected nats above 0, such as 0.05, or a share of them, such as 1%");
  return percent ? ErrorGoal{.nats = 0.0, .share = *value / 100.0} : ErrorGoal{.nats = *value};
}

ScoreOptions score_options(const LikelihoodArguments& a, ScoreMethod method) {
  ScoreOptions options{.method = method,
                       .each = a.each,
                       .evaluations = std::max(a.times, a.draws),
                       .control = choose<bool>("--control", a.control, {{"on", true}, {"off", false}}),
                       .trace = trace_options(a.trace),
                       .log_mean = choose<bool>("--average", a.average, {{"mean", false}, {"log-mean-exp", true}}),
                       .panels = a.panels,
                       .mass = parse_mass(a.mass),
                       .matched = choose<bool>("--readout", a.readout, {{"matched", true}, {"segre", false}}),
                       .t1 = a.t1,
                       .seed = parse_seed(a.seed)};
  if (!a.order.empty())
    options.order = choose<LabelOrder>("--order", a.order,
                                       {{"left-to-right", LabelOrder::left_to_right}, {"random", LabelOrder::random}});
  options.per_variable = !a.per_variable.empty();
  if (!a.error.empty()) options.error = parse_error(a.error);
  if (a.error.empty() && options.evaluations > 0) options.error.reset();
  return options;
}

void score_space(const LikelihoodArguments& a, const Session& session, const ScoreOptions& options, RanksOutput* file,
                 JsonOutput& json) {
  const auto scored =
      with_progress([&](const WorkCallbacks& callbacks) { return session.score_all(options, a.samples, callbacks); });
  if (file != nullptr) file->write([&](std::ostream& out) { write_scores_csv(out, scored); });
  if (json) return json.print(scored);
  log_notes(scored.notes);
  std::cerr << scored.scores.describe() << '\n'
            << scored.labels.size(0) << " labelings: sum of exp(log_p) " << std::setprecision(6) << scored.sum.value
            << " +- " << scored.sum.error << " (at most 1 for a bound)\n";
  if (!scored.frequencies.defined()) return;
  if (const auto text = compare_with_frequencies(scored, session.sampling().sampler); !text.empty())
    std::cerr << text << '\n';
}

// Nats of every cell: a table, an array in the shape of the items, or a picture of the first items, the brighter the
// odder.
void write_cells(RanksOutput& file, const Space& space, const ItemScores& scores,
                 const std::vector<int64_t>& file_rows) {
  const std::string& name = file.name();
  if (name.ends_with(".npy")) {
    std::vector<int64_t> shape{scores.cells.size(0)};
    shape.insert(shape.end(), space.item_shape().begin(), space.item_shape().end());
    return file.write([&](std::ostream& out) { write_npy_numbers(out, (-scores.cells).view(shape)); });
  }
  if (name.ends_with(".png")) {
    const std::string png = heat_grid_png(space, -scores.cells);
    return file.write([&](std::ostream& out) { out << png; });
  }
  file.write([&](std::ostream& out) { write_cells_csv(out, space, scores, file_rows); });
}

// The form of --per-variable must suit the model.
void check_cells_name(const std::string& name, const Space& space) {
  if (name.ends_with(".png") && !space.is(PartKind::image))
    fail_input("--per-variable ", name, ": pictures need image data; use .csv or .npy");
  if (!name.ends_with(".png") && !name.ends_with(".npy") && !name.ends_with(".csv") && name != "-")
    fail_input("--per-variable ", name, ": expected a file that ends in .csv, .npy or .png, or - for CSV");
}

void score_data(const LikelihoodArguments& a, const Session& session, const ScoreOptions& options, RanksOutput* file,
                RanksOutput* cells, JsonOutput& json) {
  const Space& space = session.space();
  const auto items = numbered_items(space, a.data, a.items, "--data " + a.data, Unknowns::allow);
  auto labels = items.labels;
  if (!a.only.empty()) {
    auto kept = parse_variables(space, a.only, "--only");
    if (options.given.defined()) kept = kept.logical_or(options.given);
    labels = torch::where(kept, labels, torch::full({1}, kUnknown, torch::kInt64));
  }
  const double start = now_seconds();
  const auto scored = with_progress(
      [&](const WorkCallbacks& callbacks) { return session.score(labels, options, callbacks, items.file_rows); });
  const double seconds = now_seconds() - start;
  if (file != nullptr) file->write([&](std::ostream& out) { write_scores_csv(out, scored.all(), items.file_rows); });
  if (cells != nullptr) write_cells(*cells, space, scored.all(), items.file_rows);
  if (json) return json.print(scored);
  log_notes(scored.notes);
  // Without a file, the averages are the result.
  std::ostream& out = file == nullptr ? std::cout : std::cerr;
  out << scored.scores.describe() << '\n' << describe(scored.summary, scored.scores.kind) << '\n';
  std::cerr << labels.size(0) << " items in " << format_seconds(seconds) << ", " << std::setprecision(3)
            << seconds / static_cast<double>(labels.size(0)) << " s each\n";
}

// Refuses options that the chosen estimator would silently ignore.
void require_options_used(const CLI::App& command, const LikelihoodArguments& a, ScoreMethod method) {
  const bool flows = method == ScoreMethod::path || method == ScoreMethod::ball;
  const std::string chosen = "--bound " + a.bound;
  const bool in_order = method == ScoreMethod::order;
  require_used(command, "--times", method == ScoreMethod::free || (in_order && a.order.empty()),
               a.order.empty() ? chosen : "--order");
  require_used(command, "--control", method == ScoreMethod::free, chosen);
  require_used(command, "--draws", method != ScoreMethod::free && !in_order, chosen);
  require_used(command, "--order", in_order, chosen);
  require_used(command, "--error", !in_order || a.order.empty(), "--order, whose score is exact");
  require_used(command, "--t1", !in_order, chosen);
  for (const char* option : {"--given", "--only", "--per-variable"})
    require_used(command, option, !a.enumerate, "--enumerate");
  require_used(command, "--given", method != ScoreMethod::ball && method != ScoreMethod::direct, chosen);
  require_used(command, "--per-variable", method == ScoreMethod::free || in_order, chosen);
  for (const char* option : {"--trace", "--stride", "--probes", "--average", "--panels"})
    require_used(command, option, flows, chosen);
  require_used(command, "--mass", method == ScoreMethod::ball, chosen);
  require_used(command, "--readout", method == ScoreMethod::direct, chosen);
  if (flows) require_trace_options_used(command, trace_options(a.trace).kind);
  for (const char* option : {"--items", "--each"}) require_used(command, option, !a.enumerate, "--enumerate");
  require_used(command, "--samples", a.enumerate, "--data");
}

void likelihood(const LikelihoodArguments& a, const CLI::App& command, const std::shared_ptr<Ranks>& ranks) {
  if (a.enumerate == !a.data.empty())
    fail_input("give either --data SOURCE to score its items, or --enumerate for all labelings of a small space");
  const auto method = parse_score_method(a.bound, "--bound");
  require_options_used(command, a, method);
  if (a.enumerate && a.out.empty() && !a.json)
    fail_input("--enumerate: give --out FILE.csv, or --out - for standard output");
  JsonOutput json(a.json);
  std::optional<RanksOutput> file;
  if (!a.out.empty()) file.emplace(*ranks, "--out", a.out);
  std::optional<RanksOutput> cells;
  refuse_standard_output("--out", a.out, a.json);
  refuse_standard_output("--per-variable", a.per_variable, a.json);
  if (!a.per_variable.empty() && a.per_variable == a.out)
    fail_input("--out and --per-variable ", a.out, ": give two different files");
  if (!a.per_variable.empty()) cells.emplace(*ranks, "--per-variable", a.per_variable);
  const Session session(
      load_named(ranks, a.run, a.device, a.checkpoint, scoring_precision(method, parse_precision(a.precision))), a.run);
  const Space& space = session.space();
  if (cells) check_cells_name(a.per_variable, space);
  ScoreOptions options = score_options(a, method);
  if (!a.given.empty()) {
    GivenTerms terms = parse_given(space, {a.given}, "--given");
    options.given = terms.variables;
    options.condition = std::move(terms.condition);
  }
  session.scorer(options);  // refuses options that do not suit the model before the data are read
  RanksOutput* const out = file ? &*file : nullptr;
  if (a.enumerate) return score_space(a, session, options, out, json);
  score_data(a, session, options, out, cells ? &*cells : nullptr, json);
}

void add_estimator_options(CLI::App& command, LikelihoodArguments& a) {
  command.add_option("--bound", a.bound,
                     "free: simulation-free, forward passes only, the stochastic sampler's likelihood. "
                     "path: the flow's own, with the path as proposal. "
                     "ball: the paper's proposal; valid, but it grows looser without limit as the flow improves and as "
                     "t1 nears 1. direct: E[T(W)] simulated, an estimate for small spaces, not a bound. "
                     "order: labels filled in one after another, the likelihood of the erasure sampler");
  command.add_option(
      "--given", a.given,
      "score the rest given these: columns or positions (2,5-9), separated by commas (one within a name: "
      "%2C); upper, lower, left or right half of an image; or a mask, FILE.png or FILE.npy, whose pixels "
      "other than 0 are given; or given what holds for all items: NAME=LABEL, NAME=A|B, NAME!=LABEL, NAME=30..60, "
      "NAME>30, ...");
  command.add_option("--only", a.only, "score these variables alone, named as for --given, and leave the others out");
  command.add_option(
      "--order", a.order,
      "order: left-to-right or random (one for all items) gives the exact log p of filling in that order, with one "
      "evaluation per variable; without it, the average over all orders is bounded");
  command.add_option("--per-variable", a.per_variable,
                     "free, order: FILE.csv, FILE.npy or, for images, FILE.png: the nats of each cell, which add up "
                     "to the item's");
  command.add_option("--error", a.error,
                     "add evaluations until the average has this standard error, in nats per item (0.05) or as a share "
                     "of them (1%); with --enumerate: until each labeling has it");
  command.add_flag("--each", a.each, "apply --error to each item (root mean square), not to the average");
  command
      .add_option("--times", a.times,
                  "free, order: evaluations per item, a multiple of 4, instead of --error; with it, the maximum")
      ->check(CLI::Range(int64_t{4}, kMost));
  command
      .add_option("--draws", a.draws,
                  "path, ball: states drawn per item, direct: trajectories, instead of --error; with it, the maximum")
      ->check(CLI::Range(int64_t{1}, kMost));
  command.add_option("--control", a.control, "free: on subtracts a control variate, which removes noise; off does not");
  add_trace_options(command, a.trace);
  command.add_option("--average", a.average,
                     "over an item's draws: mean, or log-mean-exp, which is tighter and needs the exact trace");
  command.add_option("--panels", a.panels, "panels of the quadrature along the path, 15 nodes each")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  add_mass_option(command, a.mass);
  command.add_option("--readout", a.readout, "direct: matched, or segre for W = softmax(v)");
  command.add_option("--t1", a.t1, "time at which labels are read; default: the decision time");
}

}  // namespace

void add_likelihood(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("likelihood", "Estimate how likely items are under a trained model, with errors");
  auto a = std::make_shared<LikelihoodArguments>();
  command->add_option("RUN", a->run, "directory that 'segre train' wrote")->required();
  command->add_option("--data", a->data, "SOURCE of the items; see 'segre data --help'");
  command->add_flag("--enumerate", a->enumerate, "score every labeling of a small space instead");
  command->add_option(
      "--out", a->out,
      "FILE.csv (item, log_p in nats, std_error), or - for standard output; by default only the averages "
      "are printed");
  add_json_option(*command, a->json);
  command->add_option("--items", a->items, "only the first N items; 0: all")->check(CLI::Range(int64_t{0}, kMost));
  add_estimator_options(*command, *a);
  command->add_option("--samples", a->samples, "with --enumerate: samples to compare frequencies with; 0: none")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--seed", a->seed, "seed; a score depends only on it and the item");
  add_device_option(*command, a->device);
  command->add_option(
      "--precision", a->precision,
      "precision of the network: float32, bfloat16 (CUDA), or auto: as trained for free and order, else float32");
  add_checkpoint_option(*command, a->checkpoint);
  command->footer("Example: segre likelihood models/mnist --data 'glyphs?pad=2' --items 20 --out scores.csv");
  command->callback([a, command] { over_ranks([&](const auto& ranks) { likelihood(*a, *command, ranks); }); });
}

}  // namespace segre::cli
