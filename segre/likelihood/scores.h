#pragma once

#include <vector>

#include "segre/space/space.h"

namespace segre {

/// An estimator's scores of items, in nats, with two kinds of error. Those of chance are independent between distinct
/// labelings and average out over them; those of integration are biased the same way for all items and do not.
struct ItemScores {
  torch::Tensor log_p;      ///< [N] float64 on the CPU
  torch::Tensor std_error;  ///< [N] float64: of chance; NaN if there are too few draws to know it
  /// [N] float64: signed estimate of what integration adds to log_p; undefined if nothing is integrated.
  torch::Tensor integration{};
  /// [G, N] float64, if all items were estimated from the same draws: what each of G groups of draws contributed to
  /// log_p, to first order and minus the mean. Undefined if each labeling has its own draws.
  torch::Tensor shared{};
  /// [N, n] float64: what each variable contributes to log_p, whose sum it is; undefined unless requested.
  torch::Tensor cells{};
};

/// Error of each item, from chance and integration together: [N], NaN if unknown.
torch::Tensor total_error(const ItemScores& scores);

/// Standard error of sum_k weights_k log_p_k by chance, weights [N] float64; NaN if an item's is unknown. The items
/// must be distinct labelings: equal ones have equal errors.
double error_of_sum(const ItemScores& scores, const torch::Tensor& weights);

/// The distinct labelings among items, in the order of their first appearance.
struct DistinctItems {
  torch::Tensor labels;  ///< [K, n]
  torch::Tensor counts;  ///< [K] int64: how often each occurs
  torch::Tensor place;   ///< [N] int64: which of them each item is
};
DistinctItems distinct_items(const torch::Tensor& labels);

/// Scores of distinct labelings, repeated for the items: place [N] -> N items.
ItemScores repeat_scores(const ItemScores& scores, const torch::Tensor& place);

/// Standard error of the mean of values [N, K] from strata of two neighbours each: [N].
torch::Tensor stratified_error(const torch::Tensor& values);

/// One seed per labeling [N, n] that depends only on `seed` and its labels. Estimators draw an item's random numbers
/// with it, so a score is a function of seed and item, whatever the item's position.
std::vector<uint64_t> item_seeds(const torch::Tensor& labels, uint64_t seed);

}  // namespace segre
