#include "segre/tasks/score.h"

#include <cmath>
#include <iomanip>
#include <numeric>

#include "segre/core/error.h"
#include "segre/eval/total_variation.h"
#include "segre/flow/draw.h"
#include "segre/io/csv.h"
#include "segre/runs/sampling_flow.h"
#include "segre/tasks/given.h"

namespace segre {
namespace {

constexpr int64_t kMaxEnumerated = 1 << 16;
constexpr int64_t kFirstTimes = 32;
constexpr int64_t kFirstDraws = 4;

// The requested number of evaluations; that of the first round if an error is requested.
int64_t first_count(const ScoreOptions& options, int64_t usual) {
  if (options.evaluations == 0) return usual;
  return options.error ? std::min(options.evaluations, usual) : options.evaluations;
}

const char* name_of(TraceKind kind) {
  return kind == TraceKind::exact ? "exact" : kind == TraceKind::lattice ? "lattice" : "hutchinson";
}

// The error to reach: that of the average over items that occur counts [K] times, or of each item.
ErrorTarget target_of(const ScoreOptions& options, bool each, const Space& space, const DistinctItems& items) {
  const ErrorGoal goal = *options.error;
  ErrorTarget target;
  target.most = options.evaluations;
  target.n_effective = static_cast<double>(items.labels.size(0));
  if (items.counts.defined() && !each) {
    const auto share = items.counts.to(torch::kFloat64) / items.counts.sum();
    target.n_effective = 1.0 / share.square().sum().item<double>();
  }
  target.measure = [=, counts = items.counts](const ItemScores& scores) -> ErrorTarget::State {
    const auto summary = summarise(scores, space, counts);
    const double of_each = std::sqrt(scores.std_error.square().nanmean().item<double>());
    return {each ? of_each : summary.estimation_error, goal.nats + goal.share * std::abs(summary.log_p)};
  };
  return target;
}

// How many variables of an item are scored, on average: not those given or unknown.
double mean_scored(const torch::Tensor& labels, const torch::Tensor& given) {
  auto scored = labels >= 0;
  if (given.defined()) scored = scored.logical_and(given.logical_not());
  const double mean = scored.sum(1).to(torch::kFloat64).mean().item<double>();
  return mean > 0.0 ? mean : 1.0;
}

const char* const kOfDensity = "; of columns of numbers and dates a density in their units";

// Adds the log densities of values within their levels, given the labels, to the scores of items [N, n]. Returns
// whether any column that is scored has levels.
bool add_densities(const Space& space, const torch::Tensor& labels, const torch::Tensor& given, ItemScores& scores) {
  bool any = false;
  const auto all = labels.to(torch::kCPU, torch::kInt64).contiguous();
  for (const Column& column : space.columns_and_variables()) {
    const Bins* bins = space.bins(column.first);
    if (bins == nullptr || !bins->are_levels || bins->n_intervals() == 0 || bins->are_points) continue;
    if (given.defined() && given[column.first].item<bool>()) continue;
    any = true;
    auto added = torch::zeros({all.size(0)}, torch::kFloat64);
    auto* to = added.data_ptr<double>();
    const auto* label = all.const_data_ptr<int64_t>() + column.first;
    for (int64_t k = 0; k < all.size(0); ++k, label += all.size(1))
      if (label[0] >= 0 && label[0] < bins->size())
        to[k] = bins->log_density({label[0], column.n_variables == 2 ? label[1] : 0});
    scores.log_p = scores.log_p + added;
    if (scores.cells.defined()) scores.cells.select(1, column.first).add_(added);
  }
  return any;
}

int64_t number_of(int64_t item, const std::vector<int64_t>& file_rows) {
  return file_rows.empty() ? item : file_rows[item];
}

}  // namespace

ScoreMethod parse_score_method(const std::string& text, const std::string& option) {
  if (text == "free") return ScoreMethod::free;
  if (text == "path") return ScoreMethod::path;
  if (text == "ball") return ScoreMethod::ball;
  if (text == "direct") return ScoreMethod::direct;
  if (text == "order") return ScoreMethod::order;
  fail_input(option, " ", text, ": expected free, path, ball, direct, order");
}

// How to score distinct labelings, and what the scores mean.
struct Scorer::Estimator {
  std::function<std::unique_ptr<Refinement>(const torch::Tensor& labels)> start;
  ScoreKind kind;
  double t1;
  std::string unit;
  std::string method;
  std::string meaning;

  static Estimator free(const ScoreOptions& asked, const LoadedRun& run, const Flow& flow) {
    const FreeOptions options{.times = first_count(asked, kFirstTimes),
                              .t1 = asked.t1,
                              .control = asked.control,
                              .seed = asked.seed,
                              .given = asked.given,
                              .per_variable = asked.per_variable};
    const FreeBound checked(flow, run.times, options);
    return {.start = [flow, times = run.times, options, ranks = run.ranks](
                         const auto& labels) { return refine_free_bound(flow, times, options, labels, ranks); },
            .kind = ScoreKind::lower_bound,
            .t1 = checked.t1(),
            .unit = "evaluations per item",
            .method = "simulation-free bound",
            .meaning = "in expectation a lower bound on log p of the stochastic sampler (sde)"};
  }

  static Estimator of_flow(const ScoreOptions& asked, const LoadedRun& run, const Flow& flow) {
    const bool by_path = asked.method == ScoreMethod::path;
    const FlowBoundOptions options{.proposal = by_path ? ProposalKind::path : ProposalKind::ball,
                                   .trace = asked.trace,
                                   .draws = first_count(asked, kFirstDraws),
                                   .t1 = asked.t1,
                                   .mass = asked.mass,
                                   .panels = asked.panels,
                                   .seed = asked.seed,
                                   .given = asked.given};
    if (asked.log_mean) require_exact_trace(options.trace);
    const FlowBound checked(flow, options);
    return {
        .start = [flow, options, log_mean = asked.log_mean, ranks = run.ranks](
                     const auto& labels) { return refine_flow_bound(flow, options, log_mean, labels, ranks); },
        .kind = ScoreKind::lower_bound,
        .t1 = checked.t1(),
        .unit = "draws per item",
        .method = concat(by_path ? "path" : "the paper's ball", " proposal, ", name_of(asked.trace.kind), " trace, ",
                         asked.log_mean ? "log-mean-exp" : "mean"),
        .meaning = "in expectation a lower bound on log p of the flow, which all samplers but sde and erasure follow"};
  }

  static Estimator direct(const ScoreOptions& asked, const LoadedRun& run, const Flow& flow) {
    DirectOptions options{.t1 = asked.t1, .seed = asked.seed};
    options.matched = asked.matched;
    options.draws = first_count(asked, options.draws);
    return {.start = [flow, options,
                      ranks = run.ranks](const auto& labels) { return refine_direct(flow, options, labels, ranks); },
            .kind = ScoreKind::estimate,
            .t1 = reading_time(flow.space, *flow.path, asked.t1),
            .unit = "trajectories",
            .method = "direct simulation",
            .meaning = "an estimate of the flow's p, not a bound"};
  }

  static Estimator in_order(const ScoreOptions& asked, const LoadedRun& run, const Flow& flow) {
    const OrderOptions options{.order = asked.order,
                               .times = first_count(asked, kFirstTimes),
                               .seed = asked.seed,
                               .given = asked.given,
                               .per_variable = asked.per_variable};
    const OrderBound checked(flow, options);
    const bool any = asked.order == LabelOrder::any;
    return {.start = [flow, options, ranks = run.ranks](
                         const auto& labels) { return refine_order_bound(flow, options, labels, ranks); },
            .kind = any ? ScoreKind::lower_bound : ScoreKind::estimate,
            .t1 = 0.0,
            .unit = "evaluations per item",
            .method = any ? "any-order bound"
                          : concat("filling in ",
                                   asked.order == LabelOrder::random ? "a random order" : "from left to right"),
            .meaning = any ? "in expectation a lower bound on log p of the sampler that fills in one label after "
                             "another in random order (erasure)"
                           : "the exact log p of the sampler that fills in one label after another in this order"};
  }

  static Estimator of(const ScoreOptions& asked, const LoadedRun& run) {
    const Flow flow = flow_of(run.model);
    if (asked.given.defined() && (asked.method == ScoreMethod::ball || asked.method == ScoreMethod::direct))
      fail_input("conditional likelihoods are bounded by free, path and order only");
    if (asked.per_variable && asked.method != ScoreMethod::free && asked.method != ScoreMethod::order)
      fail_input("only the bounds free and order are sums over variables");
    if (asked.method == ScoreMethod::order) return in_order(asked, run, flow);
    if (asked.method == ScoreMethod::free) return free(asked, run, flow);
    return asked.method == ScoreMethod::direct ? direct(asked, run, flow) : of_flow(asked, run, flow);
  }
};

Scorer::Scorer(const LoadedRun& run, const ScoreOptions& options)
    : run_(run), options_(options), estimator_(std::make_shared<Estimator>(Estimator::of(options, run))) {
  if (!options.error && options.evaluations < 1) fail_input("scoring needs an error or a number of evaluations");
}

Scores Scorer::score(const DistinctItems& items, bool each, const WorkCallbacks& callbacks) const {
  const bool conditional = options_.given.defined() || options_.method == ScoreMethod::order;
  if (conditional) note_untold(run_);
  const auto refinement = estimator_->start(items.labels);
  const auto on_progress = callbacks.for_work("scoring");
  Reached reached{};
  if (options_.error) {
    const auto target = target_of(options_, each, run_.model.space(), items);
    reached = reach_error(*refinement, target, on_progress, run_.ranks);
  } else {
    refinement->spend(refinement->first(), on_progress);
    reached = {refinement->spent(), {}, false};
  }
  return {.items = refinement->scores(),
          .reached = reached,
          .each = each,
          .kind = estimator_->kind,
          .t1 = estimator_->t1,
          .unit = estimator_->unit,
          .method = estimator_->method,
          .meaning = estimator_->meaning};
}

ScoredData Scorer::operator()(const torch::Tensor& labels, const WorkCallbacks& callbacks) const {
  ScoredData out{.space = run_.model.space(), .distinct = distinct_items(labels), .scores = {}, .summary = {}};
  out.scores = score(out.distinct, options_.each, callbacks);
  out.summary = summarise(out.scores.items, run_.model.space(), out.distinct.counts);
  if (out.scores.kind == ScoreKind::lower_bound) require_possible(out.summary);
  if (add_densities(out.space, out.distinct.labels, options_.given, out.scores.items)) {
    out.summary = summarise(out.scores.items, run_.model.space(), out.distinct.counts);
    out.scores.meaning += kOfDensity;
  }
  out.summary.n_variables = mean_scored(labels, options_.given);
  return out;
}

ScoredSpace Scorer::all_labelings(int64_t n_samples, const WorkCallbacks& callbacks) const {
  const Space& space = run_.model.space();
  if (space.n_labelings(kMaxEnumerated) > kMaxEnumerated)
    fail_input("the ", space.describe(), " has more than ", kMaxEnumerated, " labelings, too many to list");
  const DistinctItems all{.labels = enumerate_labelings(space, kMaxEnumerated), .counts = {}, .place = {}};
  ScoredSpace out{.space = space,
                  .labels = all.labels,
                  .scores = score(all, /*each=*/true, callbacks),
                  .sum = {},
                  .frequencies = {}};
  out.n_samples = n_samples;
  if (n_samples > 0) out.frequencies = frequencies(all.labels, n_samples, callbacks);
  out.sum = sum_of_probabilities(out.scores.items);
  if (out.scores.kind == ScoreKind::lower_bound) require_possible(out.sum);
  return out;
}

torch::Tensor Scorer::frequencies(const torch::Tensor& labels, int64_t n_samples,
                                  const WorkCallbacks& callbacks) const {
  const Sampler sampler(sampling_flow(run_), run_.experiment.sample, options_.seed);
  LabelingCounts counts(run_.model.space());
  draw_samples(
      sampler, n_samples, [&](const torch::Tensor& drawn, int64_t) { counts.add(drawn); }, callbacks, {}, run_.ranks);
  if (!run_.ranks->is_first()) return {};  // the samples went to rank 0
  const auto total = static_cast<double>(n_samples);
  const auto share = counts.counts(labels).to(torch::kFloat64) / total;
  return torch::stack({share, (share * (1.0 - share) / total).sqrt()}, 1);
}

std::string Scores::describe() const {
  std::string text = concat(method, ", ", reached.spent, " ", unit, ": ", meaning);
  if (t1 > 0.0) text += concat(" (labels read at t = ", std::setprecision(3), t1, ")");
  if (reached.capped || reached.out_of_time || reached.state.error > reached.state.wanted)
    text += concat("\nstopped with an error of ", std::setprecision(3), reached.state.error, " nats ",
                   each ? "each" : "of the average", "; the target was ", reached.state.wanted, "; ",
                   reached.out_of_time ? "the time limit came first"
                   : reached.capped    ? "request more evaluations to get closer"
                                       : "the trial that chose this number saw less spread, and adding more because of "
                                         "the scores would bias them; a smaller --error requests more");
  return text;
}

NetPrecision scoring_precision(ScoreMethod method, NetPrecision asked) {
  return asked == NetPrecision::automatic && method != ScoreMethod::free && method != ScoreMethod::order
             ? NetPrecision::float32
             : asked;
}

std::string compare_with_frequencies(const ScoredSpace& space, const std::string& sampler) {
  // As in a chi-square test, labelings that few samples are expected to have count together.
  constexpr double kFewest = 5.0;
  const auto all_p = space.scores.items.log_p.exp();
  const auto all_shares = space.frequencies.select(1, 0);
  const auto rare = all_p * static_cast<double>(space.n_samples) < kFewest;
  const auto pooled = [&](const torch::Tensor& x) {
    const auto common = x.masked_select(rare.logical_not());
    return rare.any().item<bool>() ? torch::cat({common, x.masked_select(rare).sum().view(1)}) : common;
  };
  const auto p = pooled(all_p);
  const auto share = pooled(all_shares);
  // A labeling's frequency is a mean of zeros and ones; its spread follows from p even if it never occurred.
  const auto spread = (p.clamp_max(1.0) * (1.0 - p.clamp_max(1.0)) / static_cast<double>(space.n_samples)).sqrt();
  // Leave out labelings whose error is unknown.
  const auto error = pooled((all_p * total_error(space.scores.items)).square()).sqrt();
  const auto known = error.isfinite().nonzero().squeeze(1);
  if (known.numel() == 0) return {};
  // Labelings of probability 0 that never occur are not off, though their spread is 0, too.
  const auto in_errors = [&](const torch::Tensor& errors) {
    return torch::where(p == share, torch::zeros({1}, torch::kFloat64), (p - share) / errors);
  };
  const auto sigmas = in_errors((spread.square() + error.square()).sqrt()).index_select(0, known);
  std::string text =
      concat("against the frequencies of ", space.n_samples, " samples (", sampler, "): total variation ",
             (0.5 * (all_p - all_shares).abs().sum()).item<double>(), "; differences in standard errors: rms ",
             std::setprecision(3), std::sqrt(sigmas.square().mean().item<double>()), ", largest ",
             sigmas.abs().max().item<double>(), " (sampling alone: rms ",
             std::sqrt(in_errors(spread).square().mean().item<double>()), ")");
  if (known.numel() < p.numel()) text += concat("; of ", known.numel(), " labelings whose error is known");
  return text;
}

void write_scores_csv(std::ostream& out, const ItemScores& scores, const std::vector<int64_t>& file_rows) {
  out << "item,log_p,std_error\n" << std::setprecision(10);
  const auto error = total_error(scores);
  for (int64_t k = 0; k < scores.log_p.size(0); ++k)
    out << number_of(k, file_rows) << ',' << scores.log_p[k].item<double>() << ',' << error[k].item<double>() << '\n';
}

void write_cells_csv(std::ostream& out, const Space& space, const ItemScores& scores,
                     const std::vector<int64_t>& file_rows) {
  out << "item";
  const auto columns = space.columns_and_variables();
  for (const Column& column : columns) out << ',' << csv_field(column.name);
  out << '\n' << std::setprecision(7);
  const auto cells = scores.cells.contiguous();
  const auto* at = cells.const_data_ptr<double>();
  for (int64_t k = 0; k < cells.size(0); ++k, at += cells.size(1)) {
    out << number_of(k, file_rows);
    for (const Column& column : columns)
      out << ',' << -std::accumulate(at + column.first, at + column.first + column.n_variables, 0.0) + 0.0;
    out << '\n';
  }
}

void write_scores_csv(std::ostream& out, const ScoredSpace& scored) {
  const auto& [space, labels, scores, sum, frequencies, n_samples, notes] = scored;
  for (int64_t i = 0; i < space.n_variables(); ++i) out << csv_field(space.variable_name(i)) << ',';
  out << "log_p,std_error" << (frequencies.defined() ? ",frequency,frequency_error\n" : "\n") << std::setprecision(10);
  const auto error = total_error(scores.items);
  for (int64_t k = 0; k < labels.size(0); ++k) {
    for (int64_t i = 0; i < space.n_variables(); ++i)
      out << csv_field(space.label_name(i, labels[k][i].item<int64_t>())) << ',';
    out << scores.items.log_p[k].item<double>() << ',' << error[k].item<double>();
    if (frequencies.defined())
      out << ',' << frequencies[k][0].item<double>() << ',' << frequencies[k][1].item<double>();
    out << '\n';
  }
}

}  // namespace segre
