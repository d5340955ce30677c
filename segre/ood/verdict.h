#pragma once  // internal

#include "segre/ood/detector.h"

namespace segre {

/// The smallest lead worth mentioning, as a share of the pairs of items that the other score puts in the wrong order.
inline constexpr double kLeadWorthAWord = 0.1;

/// One sentence, with its numbers, on how the recommended score compares with the baselines, each in its better
/// direction. The first that applies: a baseline beats it (one better than guessing, with a lead worth mentioning whose
/// interval excludes 0); it is no better than guessing; this many items show no difference from a baseline; the
/// difference is certain but too small to mention; or it beats every baseline.
std::string verdict(const std::vector<Separation>& results);

}  // namespace segre
