#pragma once

#include "segre/ood/scores.h"

namespace segre {

/// The least lead that is worth the word: this share of the pairs of items that the other score puts in the wrong
/// order.
inline constexpr double kLeadWorthAWord = 0.1;

/// One sentence, with its numbers, on how the recommended score did against the baselines, each in the better of its
/// two directions. In this order: a baseline beats it (one that does not guess, with a lead the interval of which
/// excludes 0, and worth the word); it does no better than guessing; so many items show no difference to a baseline;
/// there is a difference for certain, but too small for a word; or it beats every baseline.
std::string verdict(const std::vector<ScoreResult>& results);

}  // namespace segre
