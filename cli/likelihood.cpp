#include <charconv>
#include <cmath>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/scoring.h"
#include "cli/trace_options.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/data/relabel.h"
#include "segre/eval/total_variation.h"
#include "segre/io/csv.h"
#include "segre/io/output.h"
#include "segre/likelihood/refine.h"
#include "segre/likelihood/summary.h"

namespace segre::cli {
namespace {

constexpr int64_t kMaxEnumerated = 1 << 16;
constexpr int64_t kSamplesPerCall = 65'536;

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
  double mass = 0.8;
  TraceArguments trace;
  std::string average = "mean";
  std::string readout = "matched";
  std::string seed = "1";
  std::string device = "cpu";
  std::string precision = "auto";
  std::string checkpoint = "last";
};

enum class Estimator { free, path, ball, direct };

constexpr const char* kDefaultError = "0.05";
constexpr int64_t kFirstTimes = 32;
constexpr int64_t kFirstDraws = 4;

// How different labelings are scored, and what the scores are.
struct Scorer {
  std::function<std::unique_ptr<Refinement>(const torch::Tensor& labels)> start;
  std::string unit;     // "evaluations per item"
  std::string method;   // "simulation-free bound"
  std::string meaning;  // "in expectation a lower bound on log p of ..."
  ScoreKind kind;
  double t1;
};

// The number asked for by --times or --draws; a first round's where an error is asked for.
int64_t first_count(const LikelihoodArguments& a, int64_t given, int64_t usual) {
  return given == 0 ? usual : a.error.empty() ? given : std::min(given, usual);
}

Scorer free_scorer(const LikelihoodArguments& a, const LoadedRun& run, const Flow& flow, uint64_t seed) {
  const FreeOptions options{.times = first_count(a, a.times, kFirstTimes),
                            .t1 = a.t1,
                            .control = choose<bool>("--control", a.control, {{"on", true}, {"off", false}}),
                            .seed = seed};
  const FreeBound checked(flow, run.times, options);
  return {.start = [flow, times = run.times,
                    options](const auto& labels) { return refine_free_bound(flow, times, options, labels); },
          .unit = "evaluations per item",
          .method = "simulation-free bound",
          .meaning = "in expectation a lower bound on log p of the stochastic sampler (sde)",
          .kind = ScoreKind::lower_bound,
          .t1 = checked.t1()};
}

Scorer flow_scorer(const LikelihoodArguments& a, const Flow& flow, uint64_t seed, ProposalKind proposal) {
  FlowBoundOptions options{.proposal = proposal, .t1 = a.t1, .mass = a.mass, .panels = a.panels, .seed = seed};
  options.trace = trace_options(a.trace);
  options.draws = first_count(a, a.draws, kFirstDraws);
  const bool log_mean = choose<bool>("--average", a.average, {{"mean", false}, {"log-mean-exp", true}});
  if (log_mean) require_exact_trace(options.trace);
  const FlowBound checked(flow, options);
  return {.start = [flow, options,
                    log_mean](const auto& labels) { return refine_flow_bound(flow, options, log_mean, labels); },
          .unit = "draws per item",
          .method = concat(proposal == ProposalKind::path ? "path" : "the paper's ball", " proposal, ", a.trace.kind,
                           " trace, ", log_mean ? "log-mean-exp" : "mean"),
          .meaning = "in expectation a lower bound on log p of the flow, which all samplers but sde follow",
          .kind = ScoreKind::lower_bound,
          .t1 = checked.t1()};
}

Scorer direct_scorer(const LikelihoodArguments& a, const Flow& flow, uint64_t seed) {
  DirectOptions options{.t1 = a.t1, .seed = seed};
  options.matched = choose<bool>("--readout", a.readout, {{"matched", true}, {"segre", false}});
  options.draws = first_count(a, a.draws, options.draws);
  return {.start = [flow, options](const auto& labels) { return refine_direct(flow, options, labels); },
          .unit = "trajectories",
          .method = "direct simulation",
          .meaning = "an estimate of the flow's p, not a bound",
          .kind = ScoreKind::estimate,
          .t1 = reading_time(flow.space, *flow.path, a.t1)};
}

// "0.05" nats, or "2%" of the nats per item.
struct WantedError {
  double nats = 0.0;
  double share = 0.0;
};

WantedError parse_error(const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string number = percent ? text.substr(0, text.size() - 1) : text;
  double value = 0.0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (problem != std::errc() || end != number.data() + number.size() || !(value > 0.0) || !std::isfinite(value))
    fail_input("--error ", text, ": expected nats above 0, such as 0.05, or a share of them, such as 1%");
  return percent ? WantedError{.share = value / 100.0} : WantedError{.nats = value};
}

// What the error is wanted of: the average over items that occur counts [K] times, or each of them.
ErrorTarget target_of(const LikelihoodArguments& a, const Space& space, const torch::Tensor& counts, int64_t n_items) {
  const WantedError wanted = parse_error(a.error.empty() ? kDefaultError : a.error);
  const bool each = a.each || a.enumerate;
  ErrorTarget target;
  target.most = std::max(a.times, a.draws);
  if (counts.defined() && !each) {
    const auto share = counts.to(torch::kFloat64) / counts.sum();
    target.n_effective = 1.0 / share.square().sum().item<double>();
  } else {
    target.n_effective = static_cast<double>(n_items);
  }
  target.measure = [=](const ItemScores& scores) -> ErrorTarget::State {
    const auto summary = summarise(scores, space, counts);
    const double of_each = std::sqrt(scores.std_error.square().nanmean().item<double>());
    return {each ? of_each : summary.estimation_error, wanted.nats + wanted.share * std::abs(summary.log_p)};
  };
  return target;
}

struct Scored {
  ItemScores scores;  // of the distinct labelings
  Reached reached;
};

Scored score_distinct(const LikelihoodArguments& a, const Space& space, const Scorer& scorer,
                      const DistinctItems& items) {
  const auto refinement = scorer.start(items.labels);
  const auto on_progress = show_rounds("scoring");
  if (a.error.empty() && std::max(a.times, a.draws) > 0) {
    refinement->spend(refinement->first(), on_progress);
    return {refinement->scores(), {refinement->spent(), {}, false}};
  }
  const Reached reached =
      reach_error(*refinement, target_of(a, space, items.counts, items.labels.size(0)), on_progress);
  return {refinement->scores(), reached};
}

// What was done, and whether it was enough.
std::string account_of(const LikelihoodArguments& a, const Scorer& scorer, const Reached& reached) {
  std::string text = concat(scorer.method, ", ", reached.spent, " ", scorer.unit, ": ", scorer.meaning,
                            " (labels read at t = ", std::setprecision(3), scorer.t1, ")\n");
  if (reached.capped)
    text += concat("stopped there with an error of ", std::setprecision(3), reached.state.error, " nats ",
                   a.each || a.enumerate ? "each" : "of the average", " where ", reached.state.wanted,
                   " was wanted: the most that is spent unless ", a.bound == "free" ? "--times" : "--draws",
                   " says otherwise\n");
  return text;
}

void write_items(std::ostream& out, const ItemScores& scores) {
  out << "item,log_p,std_error\n" << std::setprecision(10);
  const auto error = total_error(scores);
  for (int64_t k = 0; k < scores.log_p.size(0); ++k)
    out << k << ',' << scores.log_p[k].item<double>() << ',' << error[k].item<double>() << '\n';
}

// Frequencies of the labelings among samples of the run, with their errors: [N, 2].
torch::Tensor sample_frequencies(const LoadedRun& run, const torch::Tensor& labels, int64_t n_samples, uint64_t seed) {
  const Sampler sampler(run.model, run.experiment.sample, seed);
  LabelingCounts counts(run.model.space());
  Progress progress("sampling", n_samples);
  for (int64_t first = 0; first < n_samples; first += kSamplesPerCall) {
    counts.add(sampler.draw(static_cast<uint64_t>(first), std::min(kSamplesPerCall, n_samples - first)).labels);
    progress.update(std::min(n_samples, first + kSamplesPerCall));
  }
  const auto total = static_cast<double>(n_samples);
  const auto share = counts.counts(labels).to(torch::kFloat64) / total;
  return torch::stack({share, (share * (1.0 - share) / total).sqrt()}, 1);
}

void write_table(std::ostream& out, const Space& space, const torch::Tensor& labels, const ItemScores& scores,
                 const torch::Tensor& frequencies) {
  for (int64_t i = 0; i < space.n_variables(); ++i) out << csv_field(space.variable_name(i)) << ',';
  out << "log_p,std_error" << (frequencies.defined() ? ",frequency,frequency_error\n" : "\n") << std::setprecision(10);
  const auto error = total_error(scores);
  for (int64_t k = 0; k < labels.size(0); ++k) {
    for (int64_t i = 0; i < space.n_variables(); ++i)
      out << csv_field(space.label_name(i, labels[k][i].item<int64_t>())) << ',';
    out << scores.log_p[k].item<double>() << ',' << error[k].item<double>();
    if (frequencies.defined())
      out << ',' << frequencies[k][0].item<double>() << ',' << frequencies[k][1].item<double>();
    out << '\n';
  }
}

// How far probabilities and frequencies are apart, and how far they should be by chance.
void compare_with_frequencies(std::ostream& out, const ItemScores& scores, const torch::Tensor& frequencies,
                              int64_t n_samples, const std::string& sampler) {
  const auto p = scores.log_p.exp();
  const auto share = frequencies.select(1, 0);
  // A labeling's frequency is a mean of 0 and 1; its spread follows from p itself where it was never met.
  const auto spread = (p.clamp_max(1.0) * (1.0 - p.clamp_max(1.0)) / static_cast<double>(n_samples)).sqrt();
  // Labelings whose error is unknown are left out.
  const auto error = total_error(scores);
  const auto known = error.isfinite().nonzero().squeeze(1);
  if (known.numel() == 0) return;
  const auto all_sigmas = (p - share) / (spread.square() + (p * error).square()).sqrt();
  const auto sigmas = all_sigmas.index_select(0, known);
  out << "against the frequencies of " << n_samples << " samples (" << sampler << "): total variation "
      << (0.5 * (p - share).abs().sum()).item<double>() << "; differences in standard errors: rms "
      << std::setprecision(3) << std::sqrt(sigmas.square().mean().item<double>()) << ", largest "
      << sigmas.abs().max().item<double>() << " (sampling alone: rms "
      << std::sqrt(((p - share) / spread).square().mean().item<double>()) << ")";
  if (known.numel() < p.numel()) out << "; of " << known.numel() << " labelings whose error is known";
  out << '\n';
}

void enumerate_all(const LikelihoodArguments& arguments, const LoadedRun& run, const Scorer& scorer, uint64_t seed,
                   OutputFile& file) {
  const Space& space = run.model.space();
  if (space.n_labelings(kMaxEnumerated) > kMaxEnumerated)
    fail_input("--enumerate: the ", space.describe(), " has more than ", kMaxEnumerated, " labelings");
  const DistinctItems items{.labels = enumerate_labelings(space, kMaxEnumerated), .counts = {}, .place = {}};
  const auto [scores, reached] = score_distinct(arguments, space, scorer, items);
  const auto frequencies =
      arguments.samples > 0 ? sample_frequencies(run, items.labels, arguments.samples, seed) : torch::Tensor();
  const auto sum = sum_of_probabilities(scores);
  if (scorer.kind == ScoreKind::lower_bound) require_possible(sum);
  file.write([&, &all = scores](std::ostream& out) { write_table(out, space, items.labels, all, frequencies); });
  std::cerr << account_of(arguments, scorer, reached) << items.labels.size(0) << " labelings: sum of exp(log_p) "
            << std::setprecision(6) << sum.value << " +- " << sum.error << " (a bound's is at most 1)\n";
  if (frequencies.defined())
    compare_with_frequencies(std::cerr, scores, frequencies, arguments.samples, run.experiment.sample.sampler);
}

void score_data(const LikelihoodArguments& arguments, const LoadedRun& run, const Scorer& scorer, OutputFile* file) {
  const Space& space = run.model.space();
  const auto labels = first_items(space, arguments.data, arguments.items, "--data " + arguments.data);
  const double start = now_seconds();
  const auto items = distinct_items(labels);
  const auto [scores, reached] = score_distinct(arguments, space, scorer, items);
  const double seconds = now_seconds() - start;
  const auto summary = summarise(scores, space, items.counts);
  if (scorer.kind == ScoreKind::lower_bound) require_possible(summary);
  if (file != nullptr)
    file->write([&, &all = scores](std::ostream& out) { write_items(out, repeat_scores(all, items.place)); });
  // Without a file the averages are the result.
  std::ostream& out = file == nullptr ? std::cout : std::cerr;
  out << account_of(arguments, scorer, reached) << describe(summary, scorer.kind) << "\n";
  std::cerr << labels.size(0) << " items in " << format_seconds(seconds) << ", " << std::setprecision(3)
            << seconds / static_cast<double>(labels.size(0)) << " s each\n";
}

// An option that the chosen estimator does not use would be a silent misunderstanding.
void require_options_used(const CLI::App& command, const LikelihoodArguments& a, Estimator estimator) {
  const bool flows = estimator == Estimator::path || estimator == Estimator::ball;
  const std::string chosen = "--bound " + a.bound;
  for (const char* option : {"--times", "--control"})
    require_used(command, option, estimator == Estimator::free, chosen);
  require_used(command, "--draws", estimator != Estimator::free, chosen);
  for (const char* option : {"--trace", "--stride", "--probes", "--average", "--panels"})
    require_used(command, option, flows, chosen);
  require_used(command, "--mass", estimator == Estimator::ball, chosen);
  require_used(command, "--readout", estimator == Estimator::direct, chosen);
  if (flows) require_trace_options_used(command, trace_options(a.trace).kind);
  for (const char* option : {"--items", "--each"}) require_used(command, option, !a.enumerate, "--enumerate");
  require_used(command, "--samples", a.enumerate, "--data");
}

void likelihood(const LikelihoodArguments& arguments, const CLI::App& command) {
  if (arguments.enumerate == !arguments.data.empty())
    fail_input("give either --data SOURCE, whose items are scored, or --enumerate for all labelings of a small space");
  const auto estimator = choose<Estimator>(
      "--bound", arguments.bound,
      {{"free", Estimator::free}, {"path", Estimator::path}, {"ball", Estimator::ball}, {"direct", Estimator::direct}});
  NetPrecision precision = parse_precision(arguments.precision);
  require_options_used(command, arguments, estimator);
  if (arguments.enumerate && arguments.out.empty())
    fail_input("--enumerate: give --out FILE.csv, or --out - for standard output");
  std::optional<OutputFile> file;
  if (!arguments.out.empty()) file.emplace("--out", arguments.out);
  // Derivatives of a field rounded to bfloat16 are not those of the field; the simulation-free bound needs none.
  if (precision == NetPrecision::automatic && estimator != Estimator::free) precision = NetPrecision::float32;
  const LoadedRun run =
      load_run(arguments.run, parse_device(arguments.device), parse_checkpoint(arguments.checkpoint), precision);
  const uint64_t seed = parse_seed(arguments.seed);
  const Flow flow = flow_of(run.model);
  const Scorer scorer = estimator == Estimator::free   ? free_scorer(arguments, run, flow, seed)
                        : estimator == Estimator::path ? flow_scorer(arguments, flow, seed, ProposalKind::path)
                        : estimator == Estimator::ball ? flow_scorer(arguments, flow, seed, ProposalKind::ball)
                                                       : direct_scorer(arguments, flow, seed);
  if (arguments.enumerate) return enumerate_all(arguments, run, scorer, seed, *file);
  score_data(arguments, run, scorer, file ? &*file : nullptr);
}

void add_estimator_options(CLI::App& command, LikelihoodArguments& a) {
  command.add_option("--bound", a.bound,
                     "free: simulation-free, forward passes only, the stochastic sampler's likelihood. "
                     "path: the flow's own, with the path as proposal. "
                     "ball: the paper's proposal; valid, but it grows looser without limit as the flow improves and as "
                     "t1 nears 1. direct: E[T(W)] simulated, an estimate for small spaces, no bound");
  command.add_option("--error", a.error,
                     "spend evaluations until the standard error of the average is this, in nats per item (0.05) or as "
                     "a share of them (1%); with --enumerate: of each labeling");
  command.add_flag("--each", a.each, "the error is that of each item (root mean square), not of their average");
  command
      .add_option("--times", a.times,
                  "free: evaluations per item, a multiple of 4, instead of --error; with it, the most")
      ->check(CLI::Range(int64_t{4}, kMost));
  command
      .add_option("--draws", a.draws,
                  "path, ball: states drawn per item, direct: trajectories, instead of --error; with it, the most")
      ->check(CLI::Range(int64_t{1}, kMost));
  command.add_option("--control", a.control, "free: on takes off a control variate, which removes noise; off does not");
  add_trace_options(command, a.trace);
  command.add_option("--average", a.average,
                     "of an item's draws: mean, or log-mean-exp, which is tighter and needs the exact trace");
  command.add_option("--panels", a.panels, "of the quadrature along the path, 15 nodes each")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  command.add_option("--mass", a.mass,
                     "ball: mass of the proposal's normal inside the balls of all variables together");
  command.add_option("--readout", a.readout, "direct: matched, or segre for W = softmax(v)");
  command.add_option("--t1", a.t1, "time at which labels are read; default: the decision time");
}

}  // namespace

void add_likelihood(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("likelihood", "Say how likely items are under a trained model, with errors");
  auto a = std::make_shared<LikelihoodArguments>();
  command->add_option("RUN", a->run, "directory that 'segre train' wrote")->required();
  command->add_option("--data", a->data, "SOURCE of the items; see 'segre data --help'");
  command->add_flag("--enumerate", a->enumerate, "score every labeling of a small space instead");
  command->add_option(
      "--out", a->out,
      "FILE.csv (item, log_p in nats, std_error), or - for standard output; without it only the averages "
      "are printed");
  command->add_option("--items", a->items, "only the first so many; 0: all")->check(CLI::Range(int64_t{0}, kMost));
  add_estimator_options(*command, *a);
  command->add_option("--samples", a->samples, "with --enumerate: samples whose frequencies stand beside; 0: none")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--seed", a->seed, "seed; a score depends on it and the item alone");
  command->add_option("--device", a->device, "cpu, cuda or cuda:N");
  command->add_option("--precision", a->precision,
                      "of the network: float32, bfloat16 (CUDA), or auto: as trained for free, float32 otherwise");
  add_checkpoint_option(*command, a->checkpoint);
  command->footer("Example: segre likelihood models/mnist --data 'glyphs?pad=2' --items 20 --out scores.csv");
  command->callback([a, command] { likelihood(*a, *command); });
}

}  // namespace segre::cli
