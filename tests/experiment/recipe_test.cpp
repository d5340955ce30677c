#include "segre/experiment/recipe.h"
#include "segre/net/net_kinds.h"
#include "segre/net/unet.h"
#include "tests/support/datasets.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

// recipe_for gives a working recipe for any data.

namespace segre {
namespace {

Space image(int64_t height, int64_t width, int64_t n_labels = 2) {
  return Space::uniform(Layout::image, {height, width}, n_labels);
}

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
  for (const Space& space : {table(1), table(8), Space::uniform(Layout::sequence, {2}, 91)})
    expect_works(space, "latent_class");
}

TEST(Recipe, TheOthersGetAnMlp) {
  for (const Space& space : {table(9), table(300), Space::uniform(Layout::sequence, {64}, 27)})
    expect_works(space, "mlp");
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
  const auto source = make_dataset_source(test::stripes());
  const Experiment brief = fit_recipe(*source, torch::kCPU, 0.5);
  const Experiment ample = fit_recipe(*source, torch::kCPU, 1e6);
  EXPECT_EQ(brief.net.of<UNetOptions>().channels, 8);
  EXPECT_EQ(ample.net.of<UNetOptions>().channels, 32);
  EXPECT_LE(brief.train.adam.ema, ample.train.adam.ema);
}

TEST(Recipe, TheDefaultsAreTheOneForJoints) {
  Experiment plain;
  // Except this one: a checkpoint without the key was trained without evidence.
  plain.train.evidence.kind = EvidenceKind::any;
  Experiment joint = recipe_for(test::binary_space(2), 0, torch::kCPU);
  EXPECT_EQ(schema_of(joint).to_toml(false), schema_of(plain).to_toml(false));
}

TEST(ComputeType, IsShortOnCudaForTheUnetAlone) {
  NetOptions net;
  net.kind = "unet";
  EXPECT_EQ(compute_type(net, torch::kCPU), torch::kFloat32);
  EXPECT_EQ(compute_type(net, torch::kCUDA), torch::kBFloat16);
  net.precision = NetPrecision::float32;
  EXPECT_EQ(compute_type(net, torch::kCUDA), torch::kFloat32);
  net = {};
  EXPECT_EQ(compute_type(net, torch::kCUDA), torch::kFloat32);
  net.precision = NetPrecision::bfloat16;
  EXPECT_EQ(test::input_error([&] { compute_type(net, torch::kCPU); }),
            "net.precision = \"bfloat16\" is for CUDA; on the CPU choose \"auto\" or \"float32\"");
}

}  // namespace
}  // namespace segre
