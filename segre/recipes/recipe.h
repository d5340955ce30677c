#pragma once

#include <functional>

#include "segre/recipes/experiment.h"

namespace segre {

/// Our recipe for data of this kind and amount: a UNet for images, a mixture of products for joints of a few variables,
/// and for other tables and sequences a residual network on the CPU and a transformer on a GPU. n_items as in
/// DataSource::n_items. On a CPU the UNet is small.
Experiment recipe_for(const Space& space, int64_t n_items, torch::Device device = torch::kCPU);

/// A recipe for images whose training finishes within `seconds`: the largest UNet that sees enough items, found by
/// trying a few steps of each, with a batch that leaves enough steps.
Experiment fit_recipe(const DataSource& source, torch::Device device, double seconds);

/// What a recipe is chosen for.
struct RecipeTask {
  std::shared_ptr<DataSource> source;
  torch::Device device = torch::kCPU;
  double seconds = 0.0;  ///< for choosing and training; 0: no limit
  std::string kind{};    ///< the net.kind that was asked for; empty: choose one
  /// Changes that will be made to the recipe, such as data.validation or the seed, so that a race is run with them.
  std::function<void(Experiment&)> apply = [](Experiment&) {};
  std::function<void(const std::string&)> tell = [](const std::string&) {};  ///< told in words what is chosen and why
  std::function<bool()> stop{};  ///< asked between two steps of a race; true ends it with Interrupted
};

/// Chooses the recipe. Under a time limit the networks for tables and sequences race: each trains for a part of a
/// quarter of the time, and the one with the fewest nats on held-out items is chosen.
Experiment choose_recipe(const RecipeTask& task);

}  // namespace segre
