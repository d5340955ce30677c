#include "segre/tasks/score.h"

#include <cmath>
#include <iomanip>
#include <numeric>

#include "segre/core/error.h"
#include "segre/core/log.h"
#include "segre/eval/total_variation.h"
#include "segre/flow/draw.h"
#include "segre/io/csv.h"
#include "segre/runs/sampling_flow.h"
#include "segre/space/densities.h"
#include "segre/tasks/condition_cases.h"
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

// How many cells of an item are scored, on average: not those given or unknown. A column of numbers is one cell.
double mean_scored(const Space& space, const torch::Tensor& labels, const torch::Tensor& given) {
  std::vector<int64_t> heads;
  for (const Column& column : space.columns_and_variables()) heads.push_back(column.first);
  const auto cells = torch::tensor(heads, torch::kInt64);
  auto scored = labels.index_select(1, cells) >= 0;
  if (given.defined()) scored = scored.logical_and(given.index_select(0, cells).logical_not());
  const double mean = scored.sum(1).to(torch::kFloat64).mean().item<double>();
  return mean > 0.0 ? mean : 1.0;
}

// Labels [N, n] without those of second variables where the first one is a single value, or missing: whatever the
// second says, a sample has that value, so its probability is the first one's alone.
torch::Tensor without_idle(const Space& space, const torch::Tensor& labels) {
  auto out = labels;
  for (const Column& column : space.columns_and_variables()) {
    if (column.n_variables != 2) continue;
    if (out.data_ptr() == labels.data_ptr()) out = labels.clone();
    out.select(1, column.first + 1)
        .masked_fill_(labels.select(1, column.first) >= space.bins(column.first)->n_shared(), kUnknown);
  }
  return out;
}

const char* const kOfDensity = "; of columns of numbers and dates a density in their units";

// Adds the log densities of values within their levels, given the labels, to the scores of items [N, n]. Returns
// whether any column that is scored has levels.
bool add_densities(const Space& space, const torch::Tensor& labels, const torch::Tensor& given, ItemScores& scores) {
  auto densities = log_densities(space, labels);
  if (!densities.defined()) return false;
  bool any = false;
  for (const Column& column : space.columns_and_variables()) {
    const bool is_given = given.defined() && given[column.first].item<bool>();
    any = any || (!is_given && has_density(space, column));
    if (is_given) densities.select(1, column.first).zero_();
  }
  scores.log_p = scores.log_p + densities.sum(1);
  if (scores.cells.defined()) scores.cells = scores.cells + densities;
  return any;
}

// The scores of some items, numbered by `rows` [R].
ItemScores select_scores(const ItemScores& scores, const torch::Tensor& rows) {
  const auto maybe = [&](const torch::Tensor& x, int64_t axis) { return x.defined() ? x.index_select(axis, rows) : x; };
  return {.log_p = scores.log_p.index_select(0, rows),
          .std_error = scores.std_error.index_select(0, rows),
          .integration = maybe(scores.integration, 0),
          .shared = maybe(scores.shared, 1),
          .cells = maybe(scores.cells, 0)};
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
    if ((asked.given.defined() || !asked.condition.empty()) &&
        (asked.method == ScoreMethod::ball || asked.method == ScoreMethod::direct))
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
  const bool gives_columns = options.given.defined() && run.model.space().is(PartKind::columns);
  if (gives_columns || !options.condition.empty())
    sampler_ = std::make_shared<Sampler>(run.model, run.experiment.sample, options.seed);
  if (options.condition.empty()) return;
  for (int64_t i = 0; options.given.defined() && i < run.model.space().n_variables(); ++i)
    if (options.given[i].item<bool>() && options.condition.concerns(i))
      fail_input("given ", options.condition.text(), ": ", run.model.space().column_of(i).name, " is stated twice");
  condition_ = report_condition(run, options.condition, ask_of(*sampler_), "given");
}

// Notes how likely the columns are that items have been given, by the chain rule, and whether training had rows like
// them.
void Scorer::note_given(const DistinctItems& items) const {
  constexpr int64_t kMostGiven = 32;  // variables, each of which takes an evaluation of every item
  if (!options_.given.defined() || !sampler_ || options_.given.sum().item<int64_t>() > kMostGiven) return;
  const auto nothing = torch::full({1}, kUnknown, torch::kInt64);
  const DistinctItems parts = distinct_items(torch::where(options_.given, items.labels, nothing));
  const auto counts = torch::zeros_like(parts.counts).index_add_(0, parts.place, items.counts);
  const Space& space = run_.model.space();
  auto mass = torch::zeros({parts.labels.size(0)}, torch::kFloat64);
  auto known = torch::full_like(parts.labels, kUnknown);
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    if (!options_.given[i].item<bool>()) continue;
    const auto label = parts.labels.select(1, i);
    int64_t from = 0;
    for (const auto& rows : known.split(sampler_->rows_per_block())) {
      const auto p = sampler_->probabilities({.labels = rows}, 0).narrow(1, space.offset(i), space.n_labels(i));
      const auto here = label.slice(0, from, from + rows.size(0));
      const auto log_p = p.gather(1, here.clamp_min(0).unsqueeze(1)).squeeze(1).log();
      mass.slice(0, from, from + rows.size(0)).add_(torch::where(here < 0, torch::zeros_like(log_p), log_p));
      from += rows.size(0);
    }
    known.select(1, i).copy_(label);
  }
  ItemScores scores{.log_p = mass, .std_error = torch::zeros_like(mass)};
  const bool is_density = add_densities(space, parts.labels, options_.given.logical_not(), scores);
  const double mean = (scores.log_p * counts).sum().item<double>() / counts.sum().item<double>();
  note("log p of the columns that are given: ", std::setprecision(4), mean, " on average",
       is_density ? ", a density in their units" : "");
  const double n_rows = trained_rows(run_);
  const auto rare = counts.masked_select(mass.exp() * n_rows < 1.0).sum().item<int64_t>();
  if (rare > 0)
    note("training had next to nothing like what ", rare, " of ", counts.sum().item<int64_t>(),
         " items are given: less than one of its ", n_rows, " rows is expected to be");
}

// log P(condition | labels [N, n]), where kUnknown is not known: [N] float64.
torch::Tensor Scorer::log_p_of_condition(const torch::Tensor& labels) const {
  std::vector<torch::Tensor> out;
  for (const auto& rows : labels.split(sampler_->rows_per_block()))
    out.push_back(
        split_condition(run_.model.space(), options_.condition, {.labels = rows}, ask_of(*sampler_)).log_p_of_items());
  return torch::cat(out);
}

// log p(item | condition, given) = log p(item | given) + log P(condition | item) - log P(condition | given), where the
// second is 0 for an item that satisfies the condition and has all its columns.
void Scorer::apply_condition(ScoredData& scored) const {
  if (options_.condition.empty()) return;
  const auto& [labels, counts, place] = scored.distinct;
  const auto nothing = torch::full({1, labels.size(1)}, kUnknown, torch::kInt64);
  const auto known = options_.given.defined() ? torch::where(options_.given, labels, nothing) : nothing;
  const double density = stated_density(scored.space, options_.condition).log;
  const auto added = log_p_of_condition(labels) - log_p_of_condition(known) - density;
  ItemScores& items = scored.scores.items;
  items.log_p = items.log_p + added;
  for (int64_t i = 0; items.cells.defined(); ++i)
    if (options_.condition.concerns(i)) {
      items.cells.select(1, i).add_(added);
      break;
    }
  const auto inside = items.log_p.isfinite().nonzero().squeeze(1);
  const auto n_outside =
      scored.distinct.counts.sum().item<int64_t>() - counts.index_select(0, inside).sum().item<int64_t>();
  if (inside.size(0) == 0) fail_input("given ", options_.condition.text(), ": no item satisfies this");
  if (n_outside > 0)
    note(n_outside, " items do not satisfy ", options_.condition.text(),
         ": their log p is -inf; averages are over the others");
  scored.summary = summarise(select_scores(items, inside), scored.space, counts.index_select(0, inside));
  scored.scores.meaning += concat(", given ", options_.condition.text());
  scored.condition = condition_;
}

Scores Scorer::score(const DistinctItems& items, bool each, const WorkCallbacks& callbacks) const {
  const bool conditional =
      options_.given.defined() || !options_.condition.empty() || options_.method == ScoreMethod::order;
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

ScoredData Scorer::operator()(const torch::Tensor& all_labels, const WorkCallbacks& callbacks) const {
  const bool leaves_out = options_.method != ScoreMethod::ball && options_.method != ScoreMethod::direct;
  const auto labels = leaves_out ? without_idle(run_.model.space(), all_labels) : all_labels;
  ScoredData out{.space = run_.model.space(), .distinct = distinct_items(labels), .scores = {}, .summary = {}};
  out.scores = score(out.distinct, options_.each, callbacks);
  out.summary = summarise(out.scores.items, run_.model.space(), out.distinct.counts);
  if (out.scores.kind == ScoreKind::lower_bound) require_possible(out.summary);
  if (add_densities(out.space, out.distinct.labels, options_.given, out.scores.items)) {
    out.summary = summarise(out.scores.items, run_.model.space(), out.distinct.counts);
    out.scores.meaning += kOfDensity;
  }
  note_given(out.distinct);
  apply_condition(out);
  out.summary.n_variables = mean_scored(out.space, labels, options_.given);
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
