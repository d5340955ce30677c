#pragma once  // internal

#include "segre/recipes/recipe.h"

namespace segre {

/// A recipe that takes part in a race.
struct Racer {
  Experiment experiment;
  double share = 1.0;  ///< of the race's time; less for networks that learn quickly
};

/// How far a recipe came.
struct Heat {
  std::string network;
  int64_t steps = 0;
  double seconds = 0.0;
  double nats = 0.0;   ///< simulation-free bound on -log p of the held-out items, per item
  double error = 0.0;  ///< standard error of its estimation; the same noise in all heats
};

/// Trains each recipe for its share of `seconds`, with the whole schedule squeezed into it, and scores the same
/// held-out items. The results are in the order of the racers. All must have the same data, and held-out items.
/// Interrupted if `stop`, asked between two steps, returns true.
std::vector<Heat> race(const std::vector<Racer>& racers, const std::shared_ptr<DataSource>& source,
                       torch::Device device, double seconds, const std::function<bool()>& stop = {});

}  // namespace segre
