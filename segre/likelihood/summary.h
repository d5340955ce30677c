#pragma once

#include <string>

#include "segre/likelihood/scores.h"

namespace segre {

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
