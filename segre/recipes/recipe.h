#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "segre/recipes/experiment.h"
#include "segre/recipes/training_data.h"
#include "segre/train/pace.h"

namespace segre {

/// Our recipe for data of this kind and amount: a UNet for images, a mixture of products for joints of a few variables,
/// and for other tables and sequences a residual network on the CPU and a transformer on a GPU. n_items as in
/// DataSource::n_items. On a CPU the UNet is small.
Experiment recipe_for(const Space& space, int64_t n_items, torch::Device device = torch::kCPU);

/// What a recipe is chosen for.
struct RecipeTask {
  std::shared_ptr<DataSource> source;
  torch::Device device = torch::kCPU;
  double seconds = 0.0;  ///< for choosing and training; 0: no limit
  std::string kind{};    ///< the requested net.kind; empty: choose one
  /// Makes the user's changes to a recipe, such as the seed or data.validation.
  std::function<void(Experiment&)> change = [](Experiment&) {};
  std::function<void(const std::string&)> on_reason = [](const std::string&) {};  ///< called with each reason at once
  std::function<bool()> stop{};  ///< called between two steps of a race; true ends it with Interrupted
};

/// How far a network came in a race.
struct Heat {
  std::string network;  ///< in words
  int64_t steps = 0;
  double seconds = 0.0;
  double nats = 0.0;         ///< simulation-free bound on -log p of the held-out items, per item
  double error = 0.0;        ///< standard error of its estimation; the same noise in all heats
  torch::Tensor of_items{};  ///< [K] float64: nats of each held-out item
};

/// The recipe chosen for a task, and all that was found out on the way.
struct Choice {
  Experiment experiment{};             ///< the user's changes made
  std::vector<std::string> reasons{};  ///< for the network, in words; none if it was asked for, or for an image
  std::vector<Heat> heats{};           ///< of the race, if there was one
  std::optional<TrainingData> data{};  ///< the source divided for the experiment, if that was needed
  std::optional<Pace> pace{};          ///< of the experiment's steps, if it was measured
};

/// Chooses the recipe. Under a time limit the networks for tables and sequences race: each trains for a part of a
/// quarter of the time, and the one with the fewest nats on held-out items is chosen.
Choice choose_recipe(const RecipeTask& task);

/// A recipe for images whose training finishes within task.seconds: the largest UNet that sees enough items, found by
/// trying a few steps of each, with a batch that leaves enough steps.
Choice fit_recipe(const RecipeTask& task);

}  // namespace segre
