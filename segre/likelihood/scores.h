#pragma once

#include <string>
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

/// A number with its standard error.
struct Measured {
  double value;
  double error;
};

/// Scores of items, averaged.
struct ScoreSummary {
  int64_t n_items;
  int64_t n_distinct;        ///< distinct labelings among them
  double n_variables;        ///< the divisor of bits per variable: those scored, on average
  double log_p;              ///< mean, nats per item
  double sampling_error;     ///< of the mean, for items drawn from a population: spread between items and estimation
  double estimation_error;   ///< of the mean for these items alone, by chance; NaN if an item's error is unknown
  double integration_error;  ///< of the mean, by integration: does not fall with the number of items or draws; 0 if
                             ///< nothing is integrated

  /// Both errors of estimation combined; the sampling error replaces an unknown error of chance.
  double total_error() const;
};

/// Averages scores of distinct labelings; labeling k occurs counts[k] times, or once without counts.
ScoreSummary summarise(const ItemScores& scores, const Space& space, const torch::Tensor& counts = {});

/// Whether scores are bounds or estimates.
enum class ScoreKind { lower_bound, estimate };

/// Two readable lines: nats, bits, bits per variable with the divisor, and the errors. Bounds are marked as such.
std::string describe(const ScoreSummary& summary, ScoreKind kind);

/// Throws Error if a mean log-probability is above 0 by more than three standard errors, which is impossible for a
/// distribution of labels: it is not reported as a bound.
void require_possible(const ScoreSummary& summary);

/// sum of exp(log_p) over all labelings of a space: at most 1 for lower bounds. An unknown error counts as the value.
Measured sum_of_probabilities(const ItemScores& scores);

/// The same for the sum over all labelings: throws Error if it is above 1 by more than five standard errors.
void require_possible(const Measured& sum);

}  // namespace segre
