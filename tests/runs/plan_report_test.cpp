#include "segre/runs/plan_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/runs/tiny.h"

namespace segre::plan_report_test {
namespace {

using nlohmann::json;

TEST(PlanReport, HasTheFiguresOfTheRace) {
  TrainPlan plan = plan_training({.experiment = test::tiny_experiment()});
  EXPECT_EQ(to_json(plan).at("network").at("race"), json::array());
  plan.reasons = {"it won"};
  plan.heats = {{.network = "a tree", .steps = 0, .seconds = 0.5, .nats = 5.25, .error = 0.125}};
  const json network = to_json(plan).at("network");
  EXPECT_EQ(network.at("reasons"), json::array({"it won"}));
  EXPECT_EQ(
      network.at("race"),
      json::array({{{"network", "a tree"}, {"steps", 0}, {"seconds", 0.5}, {"nats", 5.25}, {"nats_error", 0.125}}}));
}

TEST(PlanReport, NamesTheProgramsOwnNetwork) {
  const auto make = [](const Space& space, uint64_t seed) {
    NetOptions options;
    options.kind = "linear";
    return make_field(space, options, seed);
  };
  const TrainPlan plan = plan_training({.experiment = test::tiny_experiment(), .field = {"mine", make}});
  const json network = to_json(plan).at("network");
  EXPECT_EQ(network.at("kind"), "mine");
  EXPECT_EQ(network.at("description"), "mine");
  EXPECT_EQ(network.at("parameters"), n_parameters(*make(plan.data.source->space(), 1)));
}

TEST(PlanReport, EndlessDataHaveNoNumberOfItems) {
  const json data = to_json(plan_training({.experiment = test::tiny_experiment()})).at("data");
  EXPECT_EQ(data.at("items"), nullptr);
  EXPECT_EQ(data.at("training_items"), nullptr);
  EXPECT_EQ(data.at("held_out_items"), 512);
  EXPECT_EQ(data.at("variables"), 2);
  EXPECT_EQ(data.at("labels"), 4);
}

}  // namespace
}  // namespace segre::plan_report_test
