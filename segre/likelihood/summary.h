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
  int64_t n_variables;      ///< the divisor of bits per variable
  double log_p;             ///< mean, nats per item
  double sampling_error;    ///< of the mean, for items drawn from a population: spread between items and estimation
  double estimation_error;  ///< of the mean for these items alone; NaN where an item's error is unknown
};
ScoreSummary summarise(const ItemScores& scores, const Space& space);

/// What the scores are.
enum class ScoreKind { lower_bound, estimate };

/// Two lines for people: nats, bits, bits per variable with the divisor, and the errors. Bounds are called so.
std::string describe(const ScoreSummary& summary, ScoreKind kind);

/// Throws Error where a mean log-probability lies above 0 by more than three standard errors, which no distribution of
/// labels has: it is not reported as a bound.
void require_possible(const ScoreSummary& summary);

/// sum of exp(log_p) over all labelings of a space: at most 1 for lower bounds. An unknown error counts as the value.
Measured sum_of_probabilities(const ItemScores& scores);

}  // namespace segre
