#include "segre/tasks/rank_outliers.h"

#include "segre/core/error.h"
#include "segre/core/text.h"
#include "segre/data/label_counts.h"
#include "segre/data/split.h"
#include "segre/likelihood/score_each.h"
#include "segre/ood/label_surprise.h"
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
constexpr double kPairWork = 1e11;        // products, about a minute

// Scores of the distinct rows among some items.
struct Found {
  torch::Tensor score, std_error;  // [K]
  torch::Tensor variable;          // [K]; undefined if the score covers all variables together
  torch::Tensor nats, nats_error;  // [K]
  std::string account;             // what was spent, and the resulting errors
};

std::string account_of(const torch::Tensor& spent, const torch::Tensor& error, double wanted) {
  const double largest = error.max().item<double>();
  return concat(
      spent.numel(), " different rows scored with ", spent.min().item<int64_t>(), " to ", spent.max().item<int64_t>(),
      " evaluations each: standard error ", fixed(error.median().item<double>(), 3), " nats in the median, ",
      fixed(largest, 3), " at most",
      largest > wanted ? concat("; the target was ", wanted, "; request more evaluations to get closer") : "");
}

ReachedEach bound_of(const OutlierOptions& options, const LoadedRun& run, const torch::Tensor& labels, double error,
                     const WorkCallbacks& callbacks) {
  const FreeOptions free{
      .times = options.times > 0 ? std::min(options.times, kFirstSurpriseTimes) : kFirstSurpriseTimes,
      .seed = options.seed};
  return score_each(flow_of(run.model), run.times, free, labels, {.error = error, .most = options.times},
                    callbacks.for_work("scoring"), run.ranks);
}

Found score_table(const OutlierOptions& options, const LoadedRun& run, const torch::Tensor& counts,
                  const torch::Tensor& labels, const WorkCallbacks& callbacks) {
  const double wanted = options.error > 0.0 ? options.error : kTableError;
  LabelSurpriseOptions surprise_options{.error = wanted, .seed = options.seed, .ranks = run.ranks};
  if (options.times > 0) surprise_options.most = options.times;
  const auto surprise =
      label_surprise(flow_of(run.model), counts, labels, surprise_options, callbacks.for_work("scoring"));
  const auto odd = largest(run.model.space(), surprise);
  const ReachedEach bound = bound_of(options, run, labels, std::max(wanted, kNatsBesideError), callbacks);
  return {odd.value,           odd.std_error,          odd.variable,
          -bound.scores.log_p, bound.scores.std_error, account_of(surprise.spent, odd.std_error, wanted)};
}

// Scores images and sequences; `training` [M]: indices of the labelings of training items, with repetitions.
Found score_others(const OutlierOptions& options, const LoadedRun& run, const torch::Tensor& counts,
                   const torch::Tensor& labels, const torch::Tensor& training, const WorkCallbacks& callbacks) {
  const double wanted = options.error > 0.0 ? options.error : kOtherError;
  const ReachedEach bound = bound_of(options, run, labels, wanted, callbacks);
  const auto nats = -bound.scores.log_p;
  const OutsideDetector scores(run.model.space(), counts, labels.index_select(0, training),
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

// Finds the rarest pair in every row of a table, counted among as many training rows as take about a minute.
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
  const auto paired_columns = of_columns(paired);
  const auto own = of_columns(rows.labels);
  for (int64_t k = 0; k < own.size(0); ++k) {
    rows.pairs.push_back(rarest_pair(own[k], paired_columns));
    if (auto& pair = rows.pairs.back()) {
      pair->first = heads[pair->first];
      pair->second = heads[pair->second];
    }
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
  const Found found = space.is(PartKind::columns)
                          ? score_table(options, run, counts, distinct.labels, callbacks)
                          : score_others(options, run, counts, distinct.labels, training, callbacks);
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
