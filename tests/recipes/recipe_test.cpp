#include "segre/recipes/recipe.h"

#include <algorithm>

#include "segre/core/text.h"
#include "segre/net/net_kinds.h"
#include "segre/net/residual.h"
#include "segre/net/unet.h"
#include "segre/recipes/pace.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

// recipe_for gives a working recipe for any data.

namespace segre::recipe_test {
namespace {

Space image(int64_t height, int64_t width, int64_t n_labels = 2) { return Space::image(height, width, n_labels); }

Space table(int64_t columns) {
  std::vector<Variable> variables;
  for (int64_t k = 0; k < columns; ++k) variables.push_back({"", 2 + k % 4, {}});
  return Space::table(std::move(variables));
}

// Builds the network and applies it to one item.
void expect_works(const Space& space, const std::string& kind) {
  SCOPED_TRACE(space.describe());
  for (const int64_t n_items : {0, 40, 60'000}) {
    Experiment e = recipe_for(space, n_items, torch::kCPU);
    EXPECT_EQ(e.net.kind, kind);
    EXPECT_GE(e.train.steps, 1000);
    EXPECT_LE(e.train.steps, 100'000);
    Experiment read;
    schema_of(read).read_text(schema_of(e).to_toml(false), "recipe.toml");  // the config accepts every value
  }
  const torch::NoGradGuard no_grad;
  const Model model = make_model(recipe_for(space, 1000, torch::kCPU), space, torch::kCPU);
  const auto v = test::noise({1, space.n_coordinates()}, 1, torch::kFloat32);
  EXPECT_EQ(model.velocity({v, torch::full({1}, 0.1)}).sizes(), v.sizes());
}

TEST(Recipe, ImagesOfAnySizeGetAUnet) {
  for (const Space& space : {image(28, 28), image(32, 32, 8), image(7, 9), image(1, 1), image(3, 64), image(6, 4)})
    expect_works(space, "unet");
}

TEST(Recipe, LargeImagesGetAUnet) { expect_works(image(128, 256, 8), "unet"); }

TEST(Recipe, FewVariablesGetAMixture) {
  for (const Space& space : {table(1), table(8), Space::sequence(2, 91)}) expect_works(space, "latent_class");
}

TEST(Recipe, TheOthersGetAResidualNetworkOnTheCpuAndATransformerOnAGpu) {
  for (const Space& space : {table(9), table(300), Space::sequence(64, 27)}) {
    expect_works(space, "residual");
    EXPECT_EQ(recipe_for(space, 1000, torch::kCUDA).net.kind, "transformer");
  }
}

TEST(Recipe, TooManyLabelsForDenseLayersGetATransformer) {
  EXPECT_EQ(recipe_for(Space::sequence(1000, 101), 1000, torch::kCPU).net.kind, "transformer");
  EXPECT_EQ(recipe_for(Space::sequence(1000, 100), 1000, torch::kCPU).net.kind, "residual");
}

TEST(Recipe, FewRowsMeanMoreDropoutAndMoreHeldOut) {
  const auto of = [](int64_t n_items) { return recipe_for(table(12), n_items, torch::kCPU); };
  EXPECT_EQ(of(0).net.dropout, 0.0) << "drawn without end";
  EXPECT_EQ(of(500).net.dropout, 0.3);
  EXPECT_EQ(of(5'000).net.dropout, 0.2);
  EXPECT_EQ(of(50'000).net.dropout, 0.1);
  EXPECT_EQ(of(0).holdout, 0.05);
  EXPECT_EQ(of(300).holdout, 0.2);
  EXPECT_EQ(of(1'000).holdout, 0.1) << "a hundred rows";
  EXPECT_EQ(of(60'000).holdout, 0.05);
}

TEST(Recipe, TablesStopEarlyAndUseTheBest) {
  EXPECT_EQ(recipe_for(table(12), 500, torch::kCPU).watch.patience, 8);
  for (const int64_t columns : {3, 12}) EXPECT_TRUE(recipe_for(table(columns), 500, torch::kCPU).watch.use_best);
  EXPECT_FALSE(recipe_for(image(28, 28), 500, torch::kCPU).watch.use_best);
}

TEST(Recipe, ImagesAreHalvedWhileTheyAllowIt) {
  EXPECT_EQ(recipe_for(image(28, 28), 0, torch::kCPU).net.of<UNetOptions>().channel_mult.size(), 3u);    // 28, 14, 7
  EXPECT_EQ(recipe_for(image(7, 9), 0, torch::kCPU).net.of<UNetOptions>().channel_mult.size(), 1u);      // odd
  EXPECT_EQ(recipe_for(image(32, 32), 0, torch::kCPU).net.of<UNetOptions>().channel_mult.size(), 4u);    // 32 ... 4
  EXPECT_EQ(recipe_for(image(128, 256), 0, torch::kCPU).net.of<UNetOptions>().channel_mult.size(), 5u);  // 128 ... 8
}

TEST(Recipe, MoreDataMeanMoreStepsWithinBounds) {
  EXPECT_LT(recipe_for(image(28, 28), 100, torch::kCPU).train.steps,
            recipe_for(image(28, 28), 60'000, torch::kCPU).train.steps);
  EXPECT_EQ(recipe_for(image(28, 28), 1, torch::kCPU).train.steps, 2'000);
  EXPECT_EQ(recipe_for(image(28, 28), 1'000'000'000, torch::kCPU).train.steps, 50'000);
}

TEST(Recipe, ACpuGetsASmallerNetworkThanAGpu) {
  const auto parameters = [](torch::Device device) {
    return n_parameters(make_model(recipe_for(image(48, 64, 5), 200, device), image(48, 64, 5), torch::kCPU).field());
  };
  EXPECT_LT(5 * parameters(torch::kCPU), parameters(torch::kCUDA));
}

TEST(Recipe, TheBatchFollowsTheNumberOfItems) {
  EXPECT_EQ(recipe_for(image(28, 28), 30, torch::kCPU).train.batch, 16);
  EXPECT_EQ(recipe_for(image(28, 28), 60'000, torch::kCPU).train.batch, 32);
  EXPECT_EQ(recipe_for(image(28, 28), 200, torch::kCUDA).train.batch, 64);
  EXPECT_EQ(recipe_for(image(28, 28), 60'000, torch::kCUDA).train.batch, 128);
  EXPECT_EQ(recipe_for(table(12), 300, torch::kCPU).train.batch, 128);
  EXPECT_EQ(recipe_for(table(12), 0, torch::kCPU).train.batch, 256);
}

TEST(Recipe, AShortTimeGetsASmallNetworkAndALongOneALarger) {
  const test::Threads one(1);
  const std::shared_ptr<DataSource> source = make_dataset_source(test::stripes());
  const Experiment brief = fit_recipe({.source = source, .seconds = 0.5}).experiment;
  const Experiment ample = fit_recipe({.source = source, .seconds = 1e6}).experiment;
  EXPECT_EQ(brief.net.of<UNetOptions>().channels, 8);
  EXPECT_EQ(ample.net.of<UNetOptions>().channels, 32);
  EXPECT_LE(brief.train.adam.ema, ample.train.adam.ema);
}

TEST(Recipe, TheDefaultsAreTheOneForJoints) {
  Experiment plain;
  // Except this: a checkpoint without the key was trained without evidence.
  plain.train.evidence.kind = EvidenceKind::any;
  Experiment joint = recipe_for(test::binary_space(2), 0, torch::kCPU);
  EXPECT_EQ(schema_of(joint).to_toml(false), schema_of(plain).to_toml(false));
}

// A recipe for a task, and the reasons given on the way.
struct Chosen : Choice {
  std::string said;
};

Chosen choose(RecipeTask task) {
  std::string said;
  task.on_reason = [&](const std::string& text) { said += text + "\n"; };
  Choice choice = choose_recipe(task);
  EXPECT_EQ(said, choice.reasons.empty() ? "" : join(choice.reasons, "\n") + "\n") << "each reason is given at once";
  return {std::move(choice), said};
}

std::shared_ptr<DataSource> rows_of(const Space& space, int64_t N) {
  return make_dataset_source({space, test::some_labels(space, N)});
}

TEST(ChooseRecipe, GivesTheNetworkThatWasAskedFor) {
  for (const Space& space : {table(3), table(12), image(4, 4)})
    for (const std::string kind : {"linear", "mlp", "latent_class", "tree", "residual", "transformer"})
      for (const double seconds : {0.0, 100.0}) {
        const auto chosen = choose({.source = rows_of(space, 40), .seconds = seconds, .kind = kind});
        EXPECT_EQ(chosen.experiment.net.kind, kind) << space.describe();
        EXPECT_EQ(chosen.said, "");
      }
  EXPECT_EQ(choose({.source = rows_of(image(4, 4), 40), .kind = "unet"}).experiment.net.kind, "unet");
}

TEST(ChooseRecipe, WithoutATimeLimitItIsTheRecipeForTheData) {
  for (const Space& space : {table(3), table(12), image(8, 8)}) {
    Experiment chosen = choose({.source = rows_of(space, 40)}).experiment;
    Experiment recipe = recipe_for(space, 40);
    EXPECT_EQ(schema_of(chosen).to_toml(false), schema_of(recipe).to_toml(false)) << space.describe();
  }
}

TEST(ChooseRecipe, JoinsTheLevelsOfNumbers) {
  Bins levels;
  for (int k = 0; k <= 64; ++k) levels.edges.push_back(k);
  levels.are_levels = true;
  levels.fine = 2;
  std::vector<Variable> variables{{"x", 32, {}, levels, {}, "x"}, {"x (within)", 2, {}, {}, {}, "x"}};
  for (int k = 0; k < 8; ++k) variables.push_back({concat("y", k), 3, {}});
  const auto chosen = choose({.source = rows_of(Space::table(variables), 40)}).experiment;
  EXPECT_TRUE(chosen.net.of<ResidualOptions>().columns);
  EXPECT_FALSE(choose({.source = rows_of(table(12), 40)}).experiment.net.of<ResidualOptions>().columns);
}

TEST(ChooseRecipe, SaysWhy) {
  EXPECT_EQ(choose({.source = rows_of(table(3), 40)}).said,
            "a mixture of products, as for all data of at most 8 variables\n");
  const auto many = choose({.source = rows_of(table(12), 300)});
  EXPECT_TRUE(test::contains(many.said, "only 300 rows: dropout 0.3, and up to 20% held out\n"));
  EXPECT_TRUE(test::contains(many.said,
                             "4 residual blocks of width 128 on a Chow-Liu tree, the choice without a time limit "
                             "(--max-time lets networks race)\n"));
}

TEST(ChooseRecipe, AShortTimeIsTooShortForARace) {
  const test::Threads one(1);
  const auto chosen = choose({.source = rows_of(table(12), 300), .seconds = 5.0});
  EXPECT_EQ(chosen.experiment.net.kind, "residual");
  EXPECT_TRUE(test::contains(chosen.said, ", without a race: the time limit is too short\n"));
}

TEST(ChooseRecipe, NetworksRaceUnderATimeLimit_Slow) {
  const test::Threads one(1);
  const std::shared_ptr<DataSource> source = make_dataset_source(test::chain_rows(12, 600));
  const auto chosen = choose({.source = source, .seconds = 24.0});
  const auto lines = split(chosen.said, '\n');
  const auto n_heats = std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("race: ") && line.find(" nats (") != std::string::npos;
  });
  EXPECT_GE(n_heats, 3) << chosen.said;  // a tree, a mixture, a residual network; a transformer if there is time
  EXPECT_TRUE(test::contains(chosen.said, describe_net(chosen.experiment.net) + " is chosen: ")) << chosen.said;
}

TEST(PictureEvaluations, AreThoseOfImages) {
  Experiment e;
  e.watch.grid = 16;
  e.sample.steps = 19;
  EXPECT_EQ(picture_evaluations(e, Space::image(4, 4, 2)), 320);
  EXPECT_EQ(picture_evaluations(e, Space::sequence(4, 2)), 0);
}

TEST(ComputeType, IsShortOnCudaForNetworksOfLargeProducts) {
  NetOptions net;
  for (const std::string kind : {"unet", "transformer", "residual"}) {
    net.kind = kind;
    EXPECT_EQ(compute_type(net, torch::kCPU), torch::kFloat32);
    EXPECT_EQ(compute_type(net, torch::kCUDA), torch::kBFloat16);
  }
  net.precision = NetPrecision::float32;
  EXPECT_EQ(compute_type(net, torch::kCUDA), torch::kFloat32);
  net = {};
  EXPECT_EQ(compute_type(net, torch::kCUDA), torch::kFloat32);
  net.precision = NetPrecision::bfloat16;
  EXPECT_EQ(test::input_error([&] { compute_type(net, torch::kCPU); }),
            "net.precision = \"bfloat16\" with net.kind = \"latent_class\" is for CUDA; on the CPU choose \"auto\" or "
            "\"float32\"");
}

// The CPU may or may not have the instructions, so "auto" is either type there.
TEST(ComputeType, WhileTrainingFollowsTheDevice) {
  NetOptions net;
  for (const std::string kind : {"transformer", "residual"}) {
    net.kind = kind;
    net.precision = NetPrecision::automatic;
    EXPECT_EQ(training_type(net, torch::kCUDA), torch::kBFloat16);
    net.precision = NetPrecision::bfloat16;
    EXPECT_EQ(training_type(net, torch::kCPU), torch::kBFloat16);
    net.precision = NetPrecision::float32;
    EXPECT_EQ(training_type(net, torch::kCPU), torch::kFloat32);
  }
  net = {};
  EXPECT_EQ(training_type(net, torch::kCPU), torch::kFloat32);
}

}  // namespace
}  // namespace segre::recipe_test
