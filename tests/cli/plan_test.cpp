// segre train --plan: what a training would do, and that it is what the training does.

#include <nlohmann/json.hpp>

#include "segre/io/files.h"
#include "segre/runs/run_directory.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::plan_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

json plan_of(const Arguments& arguments) {
  const auto result = run_program(arguments + Arguments{"--plan", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

TEST(CliPlan, PrintsWhatATrainingWouldDoAndStops) {
  const ScratchFolder folder;
  const auto result = run_program(tiny_training("coupled", folder / "run", 12) + Arguments{"--plan"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            "data      table of 2 variables with 2 labels each; unlimited training items, 512 held out for validation\n"
            "network   MLP with 1 hidden layer, 204 parameters\n"
            "training  12 steps of 64 items\n"
            "device    cpu, 1 thread\n");
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(CliPlan, GivesTheReasonsForTheNetworkAndNeedsNoDirectory) {
  const auto result = run_program({"train", "--data", "coupled", "--plan"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("recipe    a mixture of products, as for all data of at most 8 variables\ndata "));
  const auto plan = plan_of({"train", "--data", "coupled"});
  EXPECT_EQ(plan.at("network").at("reasons"),
            json::array({"a mixture of products, as for all data of at most 8 variables"}));
  EXPECT_EQ(plan.at("network").at("kind"), "latent_class");
  EXPECT_EQ(plan.at("out"), nullptr);
}

TEST(CliPlan, IsWhatTheTrainingDoes) {
  const ScratchFolder folder;
  std::string rows = "a,b\n";
  for (int k = 0; k < 400; ++k) rows += concat(k % 3, ",", k % 7, "\n");
  write_text(folder / "t.csv", rows);
  const auto training = tiny_training("csv:" + (folder / "t.csv").string(), folder / "run", 7);
  const json plan = plan_of(training);
  ASSERT_EQ(run_program(training).exit_code, 0);
  const RunDirectory run(folder / "run");
  EXPECT_EQ(plan.at("config"), read_file(run.config()));
  const json info = json::parse(read_file(run.info_file()));
  EXPECT_EQ(plan.at("device"), info.at("device"));
  EXPECT_EQ(plan.at("ranks"), info.at("ranks"));
  EXPECT_EQ(plan.at("threads"), info.at("threads"));
  EXPECT_EQ(plan.at("network").at("parameters"), info.at("parameters"));
  const json saved = json::parse(read_file(*run.latest() / "model.json")).at("data");
  EXPECT_EQ(plan.at("data").at("sha256"), saved.at("sha256"));
  EXPECT_EQ(plan.at("data").at("items"), 400);
  EXPECT_EQ(plan.at("data").at("held_out_items"), saved.at("held_out"));
  EXPECT_EQ(plan.at("data").at("training_items").get<int64_t>() + saved.at("held_out").get<int64_t>(), 400);
  EXPECT_EQ(plan.at("training").at("expected_steps"), 7);
}

TEST(CliPlan, OfAResumedRunCountsTheStepsToComeAndChangesNothing) {
  const ScratchFolder folder;
  const auto run = folder / "run";
  ASSERT_EQ(run_program(tiny_training("coupled", run, 2)).exit_code, 0);
  const auto before = read_file(run / "config.toml");
  const auto plan = plan_of({"train", "--out", run.string(), "--resume", "--set", "train.steps=9"});
  EXPECT_EQ(plan.at("training").at("first_step"), 2);
  EXPECT_EQ(plan.at("training").at("expected_steps"), 7);
  EXPECT_EQ(read_file(run / "config.toml"), before);
  EXPECT_FALSE(fs::exists(run / ".lock"));
  const auto refused = run_program(tiny_training("coupled", run, 9) + Arguments{"--plan"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.err, "already contains a run; resume it, or choose another directory"));
}

TEST(CliPlan, UnderATimeLimitHasThePaceOfItsSteps) {
  const ScratchFolder folder;
  const auto plan = plan_of(tiny_training("coupled", folder / "run", 2) + Arguments{"--max-time", "60s"});
  EXPECT_EQ(plan.at("training").at("max_seconds"), 60.0);
  EXPECT_GT(plan.at("training").at("step_seconds"), 0.0);
  EXPECT_GT(plan.at("training").at("expected_steps"), 2);
  EXPECT_EQ(plan.at("network").at("race"), json::array()) << "the network is given";
}

TEST(CliPlan, WrongUsesAreRefused) {
  const auto json_alone = run_program({"train", "--data", "coupled", "--out", "run", "--json"});
  EXPECT_EQ(json_alone.exit_code, 2);
  EXPECT_EQ(json_alone.err, "segre: --json prints the plan of a training: give --plan, too\n");
  for (const Arguments& arguments :
       {Arguments{"train", "--data", "coupled"}, Arguments{"train", "--plan", "--resume"}}) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(contains(result.err, "--out is required")) << result.err;
  }
}

}  // namespace
}  // namespace segre::plan_test
