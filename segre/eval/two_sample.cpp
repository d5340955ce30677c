#include "segre/eval/two_sample.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/data/split.h"
#include "segre/eval/boosted_trees.h"
#include "segre/eval/roc.h"

namespace segre {
namespace {

constexpr int64_t kFolds = 3;
constexpr int64_t kShuffles = 100;  // streams of shuffle_columns; those of choose_rows are below

std::vector<bool> which_are_labels(const std::vector<ValueColumn>& columns) {
  std::vector<bool> found;
  for (const ValueColumn& column : columns) found.push_back(!column.is_number());
  return found;
}

torch::Tensor order_of(int64_t n, uint64_t seed, int64_t part) {
  auto order = torch::empty({n}, torch::kInt64);
  const auto random = RandomStream(seed, Purpose::evaluation_rows).part(1 + part);
  for (int64_t k = 0; k < n; ++k) order.data_ptr<int64_t>()[k] = shuffled(random, 0, k, n);
  return order;
}

// The mean of the folds' estimates. Their errors add up to twice the variance of independent ones if the tables are
// equal: what trees take from the chance excess of fold i over fold j counts when j is tested and again when i is.
Estimate mean_of_folds(const std::vector<Roc>& folds) {
  Estimate mean{0.0, 0.0, 0.0};
  for (const Roc& fold : folds) {
    mean.value += fold.auroc;
    mean.low += (fold.auroc - fold.low) * (fold.auroc - fold.low);
    mean.high += (fold.high - fold.auroc) * (fold.high - fold.auroc);
  }
  const auto n = static_cast<double>(folds.size());
  mean.value /= n;
  return {mean.value, std::max(0.0, mean.value - std::sqrt(2.0 * mean.low) / n),
          std::min(1.0, mean.value + std::sqrt(2.0 * mean.high) / n)};
}

}  // namespace

Estimate TwoSampleTest::score() const {
  const auto of = [](double value) { return 1.0 - std::max(0.0, 2.0 * value - 1.0); };
  return {of(auc.value), of(auc.high), of(auc.low)};
}

torch::Tensor choose_rows(const torch::Tensor& table, int64_t count, uint64_t seed, int64_t part) {
  const int64_t n = table.size(0);
  return table.index_select(0, order_of(n, seed, part).slice(0, 0, std::min(n, count)));
}

torch::Tensor shuffle_columns(const torch::Tensor& table, uint64_t seed) {
  std::vector<torch::Tensor> columns;
  for (int64_t c = 0; c < table.size(1); ++c)
    columns.push_back(table.select(1, c).index_select(0, order_of(table.size(0), seed, kShuffles + c)));
  return torch::stack(columns, 1);
}

TwoSampleTest two_sample_test(const std::vector<ValueColumn>& columns, const torch::Tensor& real,
                              const torch::Tensor& others, uint64_t seed, int64_t most_rows) {
  const int64_t n = std::min({real.size(0), others.size(0), most_rows});
  if (n < kFewestTested) fail_input("a two-sample test needs ", kFewestTested, " rows of each table, found ", n);
  const auto rows = torch::stack({choose_rows(real, n, seed, 0), choose_rows(others, n, seed, 1)});  // [2, n, C]
  const auto fold_of = torch::arange(n).remainder(kFolds);
  const auto are_labels = which_are_labels(columns);
  TwoSampleTest found{.auc = {}, .n_rows = n, .gains = std::vector<double>(columns.size(), 0.0)};
  std::vector<Roc> folds;
  for (int64_t fold = 0; fold < kFolds; ++fold) {
    const auto of_side = [&](int64_t side, bool tested) {
      return rows[side].index({tested ? fold_of == fold : fold_of != fold});
    };
    const auto learned = torch::cat({of_side(0, false), of_side(1, false)});
    std::vector<double> outcome(learned.size(0), 0.0);
    std::fill(outcome.begin() + learned.size(0) / 2, outcome.end(), 1.0);
    const BoostedTrees trees(learned, are_labels, outcome, BoostedTrees::Goal::log_odds);
    folds.push_back(roc(trees.predict(of_side(0, true)), trees.predict(of_side(1, true))));
    const auto gains = trees.gains();
    for (size_t c = 0; c < gains.size(); ++c) found.gains[c] += gains[c] / kFolds;
  }
  found.auc = mean_of_folds(folds);
  return found;
}

namespace {

// A table without a column.
torch::Tensor without(const torch::Tensor& table, int64_t column) {
  return torch::cat({table.slice(1, 0, column), table.slice(1, column + 1)}, 1);
}

std::vector<double> numbers_of(const torch::Tensor& values) {
  const auto all = values.contiguous();
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel()};
}

double square_mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

Usefulness predict_number(const BoostedTrees& trees, const torch::Tensor& x, const std::vector<double>& truth) {
  Usefulness found;
  found.right = trees.predict(x);
  double mean = 0.0;
  for (const double value : truth) mean += value / static_cast<double>(truth.size());
  std::vector<double> spread;
  for (size_t k = 0; k < truth.size(); ++k) {
    found.right[k] = std::abs(found.right[k] - truth[k]);
    spread.push_back(truth[k] - mean);
  }
  found.explained = 1.0 - square_mean(found.right) / std::max(square_mean(spread), 1e-300);
  return found;
}

}  // namespace

Usefulness learn_and_predict(const std::vector<ValueColumn>& columns, int64_t target, const torch::Tensor& learned,
                             const torch::Tensor& tested) {
  auto are_labels = which_are_labels(columns);
  are_labels.erase(are_labels.begin() + target);
  const auto known = [&](const torch::Tensor& table) {
    return table.index({table.select(1, target).isnan().logical_not()});
  };
  const auto rows = known(learned);
  const auto test_rows = known(tested);
  const auto x = without(rows, target);
  const auto test_x = without(test_rows, target);
  const auto y = numbers_of(rows.select(1, target));
  const auto truth = numbers_of(test_rows.select(1, target));
  if (columns[target].is_number())
    return predict_number(BoostedTrees(x, are_labels, y, BoostedTrees::Goal::number), test_x, truth);
  // One label against all others; the likeliest is the prediction.
  const int64_t n_labels = columns[target].labels.size();
  std::vector<std::vector<double>> scores;
  for (int64_t label = n_labels == 2 ? 1 : 0; label < n_labels; ++label) {
    std::vector<double> outcome;
    for (const double value : y) outcome.push_back(value == static_cast<double>(label) ? 1.0 : 0.0);
    scores.push_back(BoostedTrees(x, are_labels, outcome, BoostedTrees::Goal::log_odds).predict(test_x));
  }
  Usefulness found;
  for (size_t k = 0; k < truth.size(); ++k) {
    size_t best = 0;
    for (size_t j = 1; j < scores.size(); ++j)
      if (scores[j][k] > scores[best][k]) best = j;
    if (n_labels == 2) best = scores[0][k] > 0.0 ? 1 : 0;
    found.right.push_back(truth[k] == static_cast<double>(best) ? 1.0 : 0.0);
  }
  if (n_labels == 2) found.score = std::move(scores[0]);
  return found;
}

}  // namespace segre
