#include "segre/recipes/race.h"

#include <cmath>

#include "segre/net/latent_class.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"
#include "tests/support/threads.h"

namespace segre::race_test {
namespace {

// A recipe with a network so small that a step takes no time.
Racer small_racer(const std::string& kind, const std::shared_ptr<DataSource>& source) {
  Experiment e = choose_recipe({.source = source, .kind = kind}).experiment;
  e.net.of<LatentClassOptions>().classes = 8;
  e.net.of<ResidualOptions>() = {.blocks = 1, .width = 32};
  e.net.of<TransformerOptions>() = {.layers = 1, .width = 16, .heads = 2};
  e.train.batch = 64;
  return {e, kind == "tree" ? 0.0 : 1.0};
}

TEST(Race, EveryNetworkIsTrainedForItsShareAndScored) {
  const test::Threads one(1);
  constexpr double kSeconds = 1.2;
  const std::shared_ptr<DataSource> source = make_dataset_source(test::chain_rows(10, 400));
  std::vector<Racer> racers;
  for (const std::string kind : {"tree", "latent_class", "residual", "transformer"})
    racers.push_back(small_racer(kind, source));
  const TrainingData data = open_training_data(racers.front().experiment, source);
  const auto heats = race(racers, data, torch::kCPU, kSeconds);
  ASSERT_EQ(heats.size(), racers.size());
  double seconds = 0.0;
  for (size_t k = 0; k < heats.size(); ++k) {
    EXPECT_EQ(heats[k].network, describe_net(racers[k].experiment.net));
    EXPECT_TRUE(std::isfinite(heats[k].nats)) << heats[k].network;
    EXPECT_GT(heats[k].error, 0.0) << heats[k].network;
    EXPECT_EQ(heats[k].steps > 0, racers[k].share > 0.0) << heats[k].network;
    seconds += heats[k].seconds;
  }
  EXPECT_GT(seconds, kSeconds);
  EXPECT_LT(seconds, kSeconds + 20.0) << "fitting and validating take little, but the machine may be busy";
  // A chain is a tree: log 3 and nine times 0.485 nats, 5.46, give or take what a hundred rows say; 10.99 if its
  // columns were independent.
  EXPECT_NEAR(heats[0].nats, 5.46, 2.0);
}

TEST(Race, NeedsHeldOutItems) {
  const std::shared_ptr<DataSource> source = make_dataset_source(test::chain_rows(10, 20));
  EXPECT_EQ(test::any_error([&] { race({small_racer("tree", source)}, {source}, torch::kCPU, 0.1); }),
            "a race needs held-out items");
}

// Nats of a hundred items: those of the first heat, and more by this much with noise.
Heat heat_of(int64_t steps, double more, double noise) {
  const auto items = torch::arange(100, torch::kFloat64);
  const auto of_items = items.cos() + more + noise * (items * items).sin();
  Heat heat;
  heat.steps = steps;
  heat.nats = of_items.mean().item<double>();
  heat.of_items = of_items;
  return heat;
}

TEST(Race, WhatHasNothingMoreToLearnMustBeCertainlyBetter) {
  // The noise has a standard deviation of about 0.7 of its size: an error of 0.07 over a hundred items.
  EXPECT_EQ(winner_of({heat_of(9, 0.1, 1.0), heat_of(9, 1.0, 1.0), heat_of(0, 0.0, 0.0)}), 0);
  EXPECT_EQ(winner_of({heat_of(9, 0.3, 1.0), heat_of(9, 1.0, 1.0), heat_of(0, 0.0, 0.0)}), 2);
  EXPECT_EQ(winner_of({heat_of(9, 0.1, 1.0), heat_of(9, 0.0, 0.0)}), 1) << "both learn";
  EXPECT_EQ(winner_of({heat_of(0, 0.0, 0.0)}), 0);
  EXPECT_EQ(winner_of({heat_of(9, NAN, 1.0), heat_of(0, 0.0, 0.0)}), 1);
}

}  // namespace
}  // namespace segre::race_test
