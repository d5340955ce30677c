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
#include "segre/io/files.h"
#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
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
  int64_t times = 32;
  int64_t draws = 0;
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

// How scores of a chunk of items are computed, and what they are.
struct Scorer {
  std::function<ItemScores(const torch::Tensor& labels)> score;
  int64_t chunk;        // items to pass at once
  std::string meaning;  // "lower bound on log p ..."
  double t1;
};

Scorer free_scorer(const LikelihoodArguments& a, const LoadedRun& run, const Flow& flow, uint64_t seed) {
  const auto bound =
      std::make_shared<FreeBound>(flow, run.times, FreeOptions{.times = a.times, .t1 = a.t1, .seed = seed});
  return {[bound](const torch::Tensor& labels) { return (*bound)(labels); }, 8 * bound->items_per_call(),
          concat("simulation-free bound, ", a.times, " evaluations per item: a lower bound on log p"), bound->t1()};
}

Scorer flow_scorer(const LikelihoodArguments& a, const Flow& flow, uint64_t seed, ProposalKind proposal) {
  FlowBoundOptions options{.proposal = proposal, .t1 = a.t1, .mass = a.mass, .panels = a.panels, .seed = seed};
  options.trace = trace_options(a.trace);
  if (a.draws > 0) options.draws = a.draws;
  const bool log_mean = choose<bool>("--average", a.average, {{"mean", false}, {"log-mean-exp", true}});
  if (log_mean) require_exact_trace(options.trace);
  const auto bound = std::make_shared<FlowBound>(flow, options);
  const int64_t together =
      flow.options.device().is_cpu() ? at::get_num_threads() : (4096 + options.draws - 1) / options.draws;
  return {[bound, log_mean](const torch::Tensor& labels) {
            const auto weights = (*bound)(labels);
            return log_mean ? log_mean_of_weights(weights) : mean_of_weights(weights);
          },
          together,
          concat(proposal == ProposalKind::path ? "path" : "the paper's ball", " proposal, ", options.draws,
                 options.draws == 1 ? " draw" : " draws", " per item, ", a.trace.kind, " trace, ",
                 log_mean ? "log-mean-exp" : "mean", ": a lower bound on log p in expectation"),
          bound->t1()};
}

Scorer direct_scorer(const LikelihoodArguments& a, const Flow& flow, uint64_t seed) {
  DirectOptions options{.t1 = a.t1, .seed = seed};
  options.matched = choose<bool>("--readout", a.readout, {{"matched", true}, {"segre", false}});
  if (a.draws > 0) options.draws = a.draws;
  const double t1 = reading_time(flow.space, *flow.path, a.t1);
  return {[flow, options](const torch::Tensor& labels) { return direct_estimate(flow, labels, options); },
          kMaxEnumerated,
          concat("direct simulation of ", options.draws, " trajectories: an estimate of p, not a bound"), t1};
}

ItemScores score_all(const Scorer& scorer, const torch::Tensor& labels) {
  return score_in_parts(scorer.score, labels, scorer.chunk, "scoring");
}

void write_out(const std::string& out, const std::function<void(std::ostream&)>& write) {
  if (out != "-") return write_file_whole(out, write);
  write(std::cout);
  if (!std::cout.flush()) fail("writing to standard output failed");
}

void write_items(std::ostream& out, const ItemScores& scores) {
  out << "item,log_p,std_error\n" << std::setprecision(10);
  for (int64_t k = 0; k < scores.log_p.size(0); ++k)
    out << k << ',' << scores.log_p[k].item<double>() << ',' << scores.std_error[k].item<double>() << '\n';
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
  for (int64_t k = 0; k < labels.size(0); ++k) {
    for (int64_t i = 0; i < space.n_variables(); ++i)
      out << csv_field(space.label_name(i, labels[k][i].item<int64_t>())) << ',';
    out << scores.log_p[k].item<double>() << ',' << scores.std_error[k].item<double>();
    if (frequencies.defined())
      out << ',' << frequencies[k][0].item<double>() << ',' << frequencies[k][1].item<double>();
    out << '\n';
  }
}

void enumerate_all(const LikelihoodArguments& arguments, const LoadedRun& run, const Scorer& scorer, uint64_t seed) {
  const Space& space = run.model.space();
  if (space.n_labelings(kMaxEnumerated) > kMaxEnumerated)
    fail_input("--enumerate: the ", space.describe(), " has more than ", kMaxEnumerated, " labelings");
  const auto labels = enumerate_labelings(space, kMaxEnumerated);
  const auto scores = score_all(scorer, labels);
  const auto frequencies =
      arguments.samples > 0 ? sample_frequencies(run, labels, arguments.samples, seed) : torch::Tensor();
  write_out(arguments.out, [&](std::ostream& out) { write_table(out, space, labels, scores, frequencies); });
  const auto sum = sum_of_probabilities(scores);
  std::cerr << scorer.meaning << " (labels read at t = " << std::setprecision(3) << scorer.t1 << ")\n"
            << labels.size(0) << " labelings: sum of exp(log_p) " << std::setprecision(6) << sum.value << " +- "
            << sum.error << " (a bound's is at most 1)\n";
  if (frequencies.defined()) {
    const auto p = scores.log_p.exp();
    const auto share = frequencies.select(1, 0);
    // A labeling's frequency is a mean of 0 and 1; its spread follows from p itself where it was never met.
    const auto spread = (p.clamp_max(1.0) * (1.0 - p.clamp_max(1.0)) / static_cast<double>(arguments.samples)).sqrt();
    const auto sigmas = (p - share) / (spread.square() + (p * scores.std_error.nan_to_num()).square()).sqrt();
    std::cerr << "against the frequencies of " << arguments.samples << " samples: total variation "
              << (0.5 * (p - share).abs().sum()).item<double>() << "; differences in standard errors: rms "
              << std::setprecision(3) << std::sqrt(sigmas.square().mean().item<double>()) << ", largest "
              << sigmas.abs().max().item<double>() << " (sampling alone: rms "
              << std::sqrt(((p - share) / spread).square().mean().item<double>()) << ")\n";
  }
}

void score_data(const LikelihoodArguments& arguments, const LoadedRun& run, const Scorer& scorer, ScoreKind kind) {
  const auto labels =
      first_items(run.model.space(), *open_source(arguments.data), arguments.items, "--data " + arguments.data);
  const double start = now_seconds();
  const auto scores = score_all(scorer, labels);
  const double seconds = now_seconds() - start;
  const auto summary = summarise(scores, run.model.space());
  if (kind == ScoreKind::lower_bound) require_possible(summary);
  write_out(arguments.out, [&](std::ostream& out) { write_items(out, scores); });
  const int64_t count = labels.size(0);
  std::cerr << scorer.meaning << " (labels read at t = " << std::setprecision(3) << scorer.t1 << ")\n"
            << describe(summary, kind) << "\n"
            << count << " items in " << format_seconds(seconds) << ", " << std::setprecision(3)
            << seconds / static_cast<double>(count) << " s each\n";
}

void likelihood(const LikelihoodArguments& arguments) {
  if (arguments.enumerate == !arguments.data.empty())
    fail_input("give either --data SOURCE, whose items are scored, or --enumerate for all labelings of a small space");
  const auto estimator = choose<Estimator>(
      "--bound", arguments.bound,
      {{"free", Estimator::free}, {"path", Estimator::path}, {"ball", Estimator::ball}, {"direct", Estimator::direct}});
  NetPrecision precision = parse_precision(arguments.precision);
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
  if (arguments.enumerate) return enumerate_all(arguments, run, scorer, seed);
  score_data(arguments, run, scorer, estimator == Estimator::direct ? ScoreKind::estimate : ScoreKind::lower_bound);
}

void add_estimator_options(CLI::App& command, LikelihoodArguments& a) {
  command.add_option("--bound", a.bound,
                     "free: simulation-free, forward passes only, the stochastic sampler's likelihood. "
                     "path: the flow's own, with the path as proposal. "
                     "ball: the paper's proposal; valid, but it grows looser without limit as the flow improves and as "
                     "t1 nears 1. direct: E[T(W)] simulated, an estimate for small spaces, no bound");
  command.add_option("--times", a.times, "free: evaluations per item, a multiple of 4")
      ->check(CLI::Range(int64_t{4}, kMost));
  command.add_option("--draws", a.draws, "path, ball: states drawn per item (4); direct: trajectories (100000)")
      ->check(CLI::Range(int64_t{1}, kMost));
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
  command->add_option("--out", a->out, "FILE.csv (item, log_p in nats, std_error), or - for standard output")
      ->required();
  command->add_option("--items", a->items, "only the first so many")->check(CLI::Range(int64_t{1}, kMost));
  add_estimator_options(*command, *a);
  command->add_option("--samples", a->samples, "with --enumerate: samples whose frequencies stand beside; 0: none")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--seed", a->seed, "seed; a score depends on it and the item alone");
  command->add_option("--device", a->device, "cpu, cuda or cuda:N");
  command->add_option("--precision", a->precision,
                      "of the network: float32, bfloat16 (CUDA), or auto: as trained for free, float32 otherwise");
  add_checkpoint_option(*command, a->checkpoint);
  command->footer("Example: segre likelihood models/mnist --data 'glyphs?pad=2' --items 20 --out scores.csv");
  command->callback([a] { likelihood(*a); });
}

}  // namespace segre::cli
