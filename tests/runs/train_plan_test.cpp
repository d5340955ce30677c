#include "segre/runs/train_plan.h"

#include "segre/runs/train_run.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::train_plan_test {
namespace {

using test::ScratchFolder;
using test::write_text;

TEST(Resolve, AnAskedForNetworkGetsItsOwnRecipe) {
  const auto tree = resolve({.data = "coupled", .set = {"net.kind=tree"}}).choice.experiment;
  EXPECT_EQ(tree.net.kind, "tree");
  EXPECT_EQ(tree.train.steps, 200) << "only the law of times is learned";
  const auto other = resolve({.data = "coupled", .set = {"net.kind=residual", "train.steps=7"}}).choice.experiment;
  EXPECT_EQ(other.net.kind, "residual");
  EXPECT_EQ(other.train.steps, 7) << "what the user says comes last";
  EXPECT_EQ(other.train.schedule.lr, 1e-3);
}

std::string all_keys(Experiment experiment) { return schema_of(experiment).to_toml(/*with_help=*/false); }

// Whoever writes down only the data, or only one key, gets what --data and --set give.
TEST(Resolve, APartialConfigIsTheRecipePlusWhatItSays) {
  const ScratchFolder folder;
  const std::string config = (folder / "my.toml").string();
  for (const char* data : {"coupled", "glyphs"}) {
    write_text(config, concat("[data]\nsource = \"", data, "\"\n"));
    std::string said;
    const auto found =
        resolve({.config = config, .on_reason = [&](const std::string& text) { said += text; }}).choice.experiment;
    EXPECT_EQ(all_keys(found), all_keys(resolve({.data = data}).choice.experiment));
    EXPECT_EQ(said.empty(), data == std::string("glyphs")) << "why a network for a table was chosen";
  }
  write_text(config, "[data]\nsource = \"glyphs\"\n[net]\nkind = \"residual\"\n[train]\nsteps = 7\nbatch = 5\n");
  const std::vector<std::string> set{"net.kind=residual", "train.steps=7", "train.batch=6"};
  EXPECT_EQ(all_keys(resolve({.config = config, .set = {"train.batch=6"}}).choice.experiment),
            all_keys(resolve({.data = "glyphs", .set = set}).choice.experiment))
      << "assignments come last";
}

TEST(Resolve, StepsThatAreSetTakeThePlaceOfAConfigsEpochs) {
  const ScratchFolder folder;
  const std::string config = (folder / "my.toml").string();
  write_text(config, "[data]\nsource = \"glyphs\"\n[train]\nepochs = 3\n");
  EXPECT_EQ(resolve({.config = config}).choice.experiment.train.epochs, 3);
  for (const char* assignment : {"train.steps=5", "train.steps = 5"}) {
    const auto train = resolve({.config = config, .set = {assignment}}).choice.experiment.train;
    EXPECT_EQ(train.epochs, 0) << assignment;
    EXPECT_EQ(train.steps, 5) << assignment;
  }
}

// Such as that of configs/paper/cityscapes.toml, which nobody has who trains on other scenes.
TEST(Resolve, OtherDataAreNotValidatedOnThoseOfTheConfig) {
  const ScratchFolder folder;
  const std::string config = (folder / "my.toml").string();
  write_text(config, "[data]\nsource = \"idx:nowhere\"\nvalidation = \"idx:elsewhere\"\n");
  EXPECT_EQ(resolve({.config = config, .data = "coupled"}).choice.experiment.validation, "");
  EXPECT_EQ(
      resolve({.config = config, .data = "coupled", .set = {"data.validation=mixture"}}).choice.experiment.validation,
      "mixture");
  write_text(config, "[data]\nvalidation = \"mixture\"\n");
  EXPECT_EQ(resolve({.config = config, .data = "coupled"}).choice.experiment.validation, "mixture")
      << "a config without data has no data of its own";
}

// Under a time limit too: a network with sizes of its own is not made to fit.
TEST(Resolve, AConfigWithANetworkIsNotFittedIntoTheTime) {
  const ScratchFolder folder;
  const std::string config = (folder / "my.toml").string();
  write_text(config, "[data]\nsource = \"glyphs\"\n[net]\nkind = \"unet\"\n");
  EXPECT_EQ(all_keys(resolve({.config = config, .max_seconds = 1.0}).choice.experiment),
            all_keys(resolve({.config = config}).choice.experiment));
}

TEST(Resolve, SaysWhatItChose) {
  std::string said;
  const auto found =
      resolve({.data = "coupled", .on_reason = [&](const std::string& text) { said += text; }}).choice.experiment;
  EXPECT_EQ(found.net.kind, "latent_class");
  EXPECT_TRUE(test::contains(said, "a mixture of products"));
}

// 400 rows of three columns.
std::shared_ptr<DataSource> rows() {
  return make_dataset_source(test::numbered_rows(Space::table({{"a", 5, {}}, {"b", 9, {}}, {"c", 9, {}}}), 400));
}

TEST(PlanTraining, DividesTheDataAsTheExperimentSays) {
  const TrainPlan plan = plan_training({.data = "csv:rows.csv", .source = rows(), .set = {"data.holdout=0.25"}});
  EXPECT_EQ(plan.data.source->n_items(), 300);
  EXPECT_EQ(plan.data.n_held_out(), 100);
  EXPECT_EQ(plan.fingerprint.n_items, 400);
  EXPECT_EQ(plan.fingerprint, fingerprint_of(*rows(), "csv:rows.csv", "", plan.data.held_out));
  EXPECT_EQ(plan.reasons.size(), 1u);
}

TEST(PlanTraining, CountsEpochsInSteps) {
  const TrainPlan plan = plan_training(
      {.data = "csv:rows.csv", .source = rows(), .set = {"data.holdout=0.25", "train.epochs=10", "train.batch=30"}});
  EXPECT_EQ(plan.experiment.train.steps, 100);
  EXPECT_EQ(plan.experiment.train.epochs, 0);
  EXPECT_EQ(plan.length.expected, 100);
}

TEST(PlanTraining, AnExperimentIsTakenAsItIs) {
  Experiment e;
  e.data = "coupled";
  e.watch.evaluations = 32;
  EXPECT_EQ(all_keys(plan_training({.experiment = e}).experiment), all_keys(e));
}

TEST(PlanTraining, UsesTheItemsAndThePaceThatTheRecipeWasChosenBy) {
  const test::Threads one(1);
  const std::shared_ptr<DataSource> source = make_dataset_source(test::chain_rows(12, 600));
  RecipeTask task{.source = source, .seconds = 10.0};
  const Choice choice = choose_recipe(task);
  ASSERT_TRUE(choice.data);
  EXPECT_TRUE(torch::equal(choice.data->held_out, open_training_data(choice.experiment, source).held_out));
  const TrainPlan plan = plan_training({.data = "csv:rows.csv", .source = source, .max_seconds = 10.0});
  EXPECT_TRUE(torch::equal(plan.data.held_out, choice.data->held_out));
  EXPECT_GT(plan.length.pace.seconds(plan.length.batch), 0.0);
  EXPECT_GT(plan.length.most, plan.experiment.train.steps);
}

TEST(PlanTraining, OfAnImageUnderATimeLimitIsMeasuredOnce) {
  const test::Threads one(1);
  const std::shared_ptr<DataSource> source = make_dataset_source(test::stripes());
  EXPECT_TRUE(choose_recipe({.source = source, .seconds = 2.0}).pace);
  const auto larger = [](Experiment& e) { schema_of(e).set("net.channels=16"); };
  EXPECT_FALSE(choose_recipe({.source = source, .seconds = 2.0, .change = larger}).pace) << "of another network";
}

TEST(PlanTraining, WithoutADirectoryCannotBeTrained) {
  Experiment e;
  e.data = "coupled";
  EXPECT_EQ(test::input_error([&] { train_run(plan_training({.experiment = e})); }),
            "a training needs a directory for its run, its plan has none");
}

}  // namespace
}  // namespace segre::train_plan_test
