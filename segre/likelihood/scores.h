#pragma once

#include <vector>

#include "segre/space/space.h"

namespace segre {

/// What an estimator says about items, in nats.
struct ItemScores {
  torch::Tensor log_p;      ///< [N] float64 on the CPU
  torch::Tensor std_error;  ///< [N] float64: of log_p, errors of integration included; NaN where a single draw tells
                            ///< nothing about its spread
};

/// One seed per labeling [N, n] that depends on `seed` and its labels alone. Estimators draw an item's random numbers
/// with it, so a score is a function of seed and item, wherever the item stands.
std::vector<uint64_t> item_seeds(const torch::Tensor& labels, uint64_t seed);

}  // namespace segre
