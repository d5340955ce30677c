#include "segre/tasks/rank_outliers.h"

#include <algorithm>

#include "segre/core/error.h"
#include "segre/core/stages.h"
#include "segre/core/text.h"
#include "segre/core/time_left.h"
#include "segre/data/label_counts.h"
#include "segre/data/split.h"
#include "segre/likelihood/score_each.h"
#include "segre/ood/label_surprise.h"
#include "segre/runs/sampling_flow.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/training_items.h"

namespace segre {
namespace {

constexpr int64_t kFirstSurpriseTimes = 32;
constexpr double kTableError = 0.1;       // of a label's surprise
constexpr double kNatsBesideError = 0.5;  // of a table's nats, which are not used for ranking
constexpr double kOtherError = 1.0;       // of the nats of images and sequences, which are much larger
constexpr int64_t kMostPaired = 20'000;   // maximum number of training rows for counting pairs of labels
constexpr int64_t kFewestPaired = 100;    // with fewer, pairs are not counted: a row has too many labels
constexpr double kPairWork = 3e12;        // pairs compared, 64 at a time
constexpr double kTableWork = ErrorTarget::kWork / 20.0;  // of the nats of a table of few rows
constexpr int64_t kFirst = 100;                           // rows, at least, and
constexpr double kFirstShare = 0.05;                      // of all, that reach the error if none is requested
constexpr double kScoringShare = 0.9;                     // of the time until a deadline; the rest is for what follows

// Scores of the distinct rows among some items.
struct Found {
  torch::Tensor score, std_error;  // [K]
  torch::Tensor variable;          // [K]; undefined if the score covers all variables together
  torch::Tensor nats, nats_error;  // [K]
  std::string account;             // what was spent, and the resulting errors
};

// What was spent [K] and which errors it gave [K], those of `refined` rows [K] bool being wanted.
std::string account_of(const torch::Tensor& spent, const torch::Tensor& error, const torch::Tensor& refined,
                       double wanted, bool out_of_time) {
  const auto of_refined = error.masked_select(refined);
  const double largest = of_refined.max().item<double>();
  std::string text =
      concat(spent.numel(), " different rows scored with ", spent.min().item<int64_t>(), " to ",
             spent.max().item<int64_t>(), " evaluations each: standard error ", fixed(error.median().item<double>(), 3),
             " nats in the median, ", fixed(error.max().item<double>(), 3), " at most");
  if (of_refined.numel() < error.numel())
    text += concat(", ", fixed(largest, 3), " among the ", of_refined.numel(), " that may be oddest");
  if (largest > wanted)
    text += concat("; the target was ", wanted, "; ",
                   out_of_time ? "the time limit came first" : "request more evaluations to get closer");
  return text;
}

ReachedEach bound_of(const OutlierOptions& options, const LoadedRun& run, const Flow& flow, const torch::Tensor& labels,
                     const EachTarget& target, const OnProgress& on_progress) {
  const FreeOptions free{
      .times = options.times > 0 ? std::min(options.times, kFirstSurpriseTimes) : kFirstSurpriseTimes,
      .seed = options.seed};
  return score_each(flow, run.times, free, labels, target, on_progress, run.ranks);
}

Found score_table(const OutlierOptions& options, const LoadedRun& run, const torch::Tensor& counts,
                  const torch::Tensor& labels, const WorkCallbacks& callbacks) {
  const double wanted = options.error > 0.0 ? options.error : kTableError;
  const int64_t n_rows = labels.size(0);
  LabelSurpriseOptions surprise_options{.error = wanted, .seed = options.seed, .ranks = run.ranks};
  if (options.times > 0) surprise_options.most = options.times;
  if (options.error == 0.0 && options.times == 0)
    surprise_options.sharp =
        std::max({kFirst, options.first, static_cast<int64_t>(kFirstShare * static_cast<double>(n_rows))});
  // The scores' noise is far larger than what bfloat16 rounds.
  const Flow flow = trained_flow(run);
  EachTarget target{.error = std::max(wanted, kNatsBesideError), .most = options.times, .work = kTableWork};
  if (options.times == 0 && surprise_options.sharp > 0 && surprise_options.sharp < n_rows)
    target.most = kFirstSurpriseTimes;  // one round, without a trial
  // The bound comes first: it takes what it takes, and what time is left goes to the scores. In evaluations, of which
  // one of the bound takes about three times as long: those of all rows, and about a thousand of each that is refined.
  const auto n = static_cast<double>(n_rows);
  const auto n_sharp =
      static_cast<double>(surprise_options.sharp > 0 ? std::min(surprise_options.sharp, n_rows) : n_rows);
  Stages stages(callbacks, "scoring", {3.0 * kFirstSurpriseTimes * n, 64.0 * n + 1024.0 * n_sharp});
  const ReachedEach bound = bound_of(options, run, flow, labels, target, stages.stage(0));
  const auto surprise = label_surprise(flow, counts, labels, surprise_options, stages.stage(1));
  stages.finish();
  const auto odd = largest(run.model.space(), surprise);
  return {odd.value,
          odd.std_error,
          odd.variable,
          -bound.scores.log_p,
          bound.scores.std_error,
          account_of(surprise.spent, odd.std_error, surprise.refined, wanted, surprise.out_of_time)};
}

// Scores images and sequences; `training` [M]: indices of the labelings of training items, with repetitions.
Found score_others(const OutlierOptions& options, const LoadedRun& run, const torch::Tensor& counts,
                   const torch::Tensor& labels, const torch::Tensor& training, const WorkCallbacks& callbacks) {
  const double wanted = options.error > 0.0 ? options.error : kOtherError;
  Stages stages(callbacks, "scoring", {1.0});
  const ReachedEach bound =
      bound_of(options, run, flow_of(run.model), labels, {.error = wanted, .most = options.times}, stages.stage(0));
  stages.finish();
  const auto nats = -bound.scores.log_p;
  const OutsideDetector scores(run.model.space(), counts, labels.index_select(0, training),
                               nats.index_select(0, training));
  const auto& error = bound.scores.std_error;
  return {scores(labels, nats).front().values,
          scores.recommended_error(nats, error),
          {},
          nats,
          error,
          account_of(bound.spent, error, torch::ones_like(error, torch::kBool), wanted, bound.out_of_time)};
}

std::vector<std::string> places_of(const DataSource& source, int64_t count) {
  std::vector<std::string> places;
  for (int64_t k = 0; k < count; ++k) places.push_back(source.place(k));
  return places;
}

// Names the values outside the range of training, and puts rows with one far outside at percentile 100: training had
// nothing like it.
void mark_outside(OddRows& rows, const DataSource& source) {
  const Dataset* dataset = source.dataset();
  if (dataset == nullptr || !dataset->space.shares_contents_of(rows.space)) return;
  for (const OutsideValue& value : dataset->outside) {
    if (value.item >= rows.labels.size(0)) break;
    rows.outside.resize(rows.labels.size(0));
    if (!rows.beyond.defined()) rows.beyond = torch::zeros({rows.labels.size(0)}, torch::kFloat64);
    std::string& text = rows.outside[value.item];
    text += concat(text.empty() ? "" : "; ", rows.space.variable_name(value.variable), " = ", value.text, ", not ",
                   rows.space.bins(value.variable)->range());
    rows.beyond[value.item] = std::max(rows.beyond[value.item].item<double>(), value.beyond);
    if (rows.is_far_outside(value.item)) rows.percentile[value.item] = 100.0;
  }
}

// Finds the rarest pair in every row of a table, counted among as many training rows as take a few seconds.
void count_pairs(OddRows& rows, const DataSource& train) {
  const auto n = static_cast<double>(rows.space.n_variables());
  const double affordable = kPairWork / (n * n * static_cast<double>(rows.labels.size(0)));
  const auto most = static_cast<int64_t>(std::min(affordable, static_cast<double>(kMostPaired)));
  if (most < kFewestPaired) return;
  const auto paired = chosen_items(train, most);
  rows.n_paired = paired.size(0);
  std::vector<int64_t> heads;  // where in its level a number lies says nothing
  for (const Column& column : rows.space.columns()) heads.push_back(column.first);
  const auto of_columns = [&](const torch::Tensor& labels) {
    return labels.index_select(1, torch::tensor(heads, torch::kInt64));
  };
  rows.pairs = rarest_pairs(of_columns(rows.labels), of_columns(paired));
  for (auto& pair : rows.pairs) {
    if (!pair) continue;
    pair->first = heads[pair->first];
    pair->second = heads[pair->second];
  }
}

torch::Tensor calibration_items(const DataSource& train, const OutlierOptions& options) {
  if (options.held_out.defined()) {  // they are in the order of the file, which may be sorted
    const int64_t n = options.held_out.size(0);
    return options.held_out.index_select(0, chosen_rows(n, std::min(options.calibration, n)));
  }
  const int64_t count = train.n_items() == 0 ? options.calibration : std::min(options.calibration, train.n_items());
  return train.items({options.seed, Purpose::calibration_rows}, 0, count);
}

}  // namespace

RankedRows rank_outliers(const LoadedRun& run, const DataSource& source, const DataSource& train,
                         const OutlierOptions& options, const WorkCallbacks& callbacks) {
  const Space& space = run.model.space();
  const auto labels = first_items(space, source, options.items, options.called);
  const int64_t N = labels.size(0);
  const auto calibration = calibration_items(train, options);
  const auto counts = count_training_labels(train);
  const auto distinct = distinct_items(torch::cat({labels, calibration}));
  const auto training = distinct.place.slice(0, N);
  const Found found = [&] {
    const DeadlineGuard guard(kScoringShare * seconds_left());
    return space.is(PartKind::columns) ? score_table(options, run, counts, distinct.labels, callbacks)
                                       : score_others(options, run, counts, distinct.labels, training, callbacks);
  }();
  const auto of = [&](const torch::Tensor& values) { return values.index_select(0, distinct.place.slice(0, 0, N)); };
  RankedRows out{{.space = space,
                  .labels = labels,
                  .places = places_of(source, N),
                  .score = of(found.score),
                  .std_error = of(found.std_error),
                  .percentile = percentiles_among(of(found.score), found.score.index_select(0, training)),
                  .variable = found.variable.defined() ? of(found.variable) : torch::Tensor(),
                  .nats = of(found.nats),
                  .nats_error = of(found.nats_error),
                  .independent = independent_nats(space, counts, labels)},
                 concat(found.account, "; percentiles are among ", calibration.size(0),
                        options.held_out.defined() ? " held-out items" : " training items")};
  out.rows.file_rows = file_rows_of(source, N);
  mark_outside(out.rows, source);
  if (space.is(PartKind::columns)) count_pairs(out.rows, train);
  return out;
}

}  // namespace segre
