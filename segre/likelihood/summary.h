#pragma once

#include <string>

#include "segre/likelihood/scores.h"

namespace segre {

/// A number with its standard error.
struct Measured {
  double value;
  double error;
};

/// What scores of items say on average.
struct ScoreSummary {
  int64_t n_items;
  int64_t n_distinct;        ///< different labelings among them
  int64_t n_variables;       ///< the divisor of bits per variable
  double log_p;              ///< mean, nats per item
  double sampling_error;     ///< of the mean, for items drawn from a population: spread between items and estimation
  double estimation_error;   ///< of the mean for these items alone, by chance; NaN if an item's error is unknown
  double integration_error;  ///< of the mean, by integration: does not fall with the number of items or draws; 0 if
                             ///< nothing is integrated

  /// Both errors of estimation together; the sampling error if that of chance is unknown.
  double total_error() const;
};

/// Averages scores of different labelings, of which labeling k occurs counts[k] times; once each without counts.
ScoreSummary summarise(const ItemScores& scores, const Space& space, const torch::Tensor& counts = {});

/// What the scores are.
enum class ScoreKind { lower_bound, estimate };

/// Two lines for people: nats, bits, bits per variable with the divisor, and the errors. Bounds are called so.
std::string describe(const ScoreSummary& summary, ScoreKind kind);

/// Throws Error if a mean log-probability lies above 0 by more than three standard errors, which no distribution of
/// labels has: it is not reported as a bound.
void require_possible(const ScoreSummary& summary);

/// sum of exp(log_p) over all labelings of a space: at most 1 for lower bounds. An unknown error counts as the value.
Measured sum_of_probabilities(const ItemScores& scores);

/// The same for the sum over all labelings: throws Error if it lies above 1 by more than five standard errors.
void require_possible(const Measured& sum);

}  // namespace segre
