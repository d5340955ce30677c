#pragma once  // internal

#include "segre/recipes/recipe.h"

namespace segre {

/// A recipe that takes part in a race.
struct Racer {
  Experiment experiment;
  double share = 1.0;          ///< of the race's time; less for networks that learn quickly
  std::optional<Pace> pace{};  ///< of its steps, if it was measured
};

/// Trains each recipe for its share of `seconds`, with the whole schedule squeezed into it, and scores the same
/// held-out items. The results are in the order of the racers. There must be held-out items.
/// Interrupted if `stop`, called between two steps, returns true.
std::vector<Heat> race(const std::vector<Racer>& racers, const TrainingData& data, torch::Device device, double seconds,
                       const std::function<bool()>& stop = {});

/// The heat to go on with: the one with the fewest nats. One that took no steps, such as a tree, has nothing more to
/// learn: it must be better than the best of the others by two standard errors of the paired difference.
size_t winner_of(const std::vector<Heat>& heats);

}  // namespace segre
