#include "segre/runs/resolve.h"

#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::resolve_test {
namespace {

using test::ScratchFolder;
using test::write_text;

TEST(Resolve, AnAskedForNetworkGetsItsOwnRecipe) {
  const auto tree = resolve({.data = "coupled", .set = {"net.kind=tree"}}, torch::kCPU).experiment;
  EXPECT_EQ(tree.net.kind, "tree");
  EXPECT_EQ(tree.train.steps, 200) << "only the law of times is learned";
  const auto other =
      resolve({.data = "coupled", .set = {"net.kind=residual", "train.steps=7"}}, torch::kCPU).experiment;
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
        resolve({.config = config, .tell = [&](const std::string& text) { said += text; }}, torch::kCPU).experiment;
    EXPECT_EQ(all_keys(found), all_keys(resolve({.data = data}, torch::kCPU).experiment));
    EXPECT_EQ(said.empty(), data == std::string("glyphs")) << "why a network for a table was chosen";
  }
  write_text(config, "[data]\nsource = \"glyphs\"\n[net]\nkind = \"residual\"\n[train]\nsteps = 7\nbatch = 5\n");
  const std::vector<std::string> set{"net.kind=residual", "train.steps=7", "train.batch=6"};
  EXPECT_EQ(all_keys(resolve({.config = config, .set = {"train.batch=6"}}, torch::kCPU).experiment),
            all_keys(resolve({.data = "glyphs", .set = set}, torch::kCPU).experiment))
      << "assignments come last";
}

// Such as that of configs/paper/cityscapes.toml, which nobody has who trains on other scenes.
TEST(Resolve, OtherDataAreNotValidatedOnThoseOfTheConfig) {
  const ScratchFolder folder;
  const std::string config = (folder / "my.toml").string();
  write_text(config, "[data]\nsource = \"idx:nowhere\"\nvalidation = \"idx:elsewhere\"\n");
  EXPECT_EQ(resolve({.config = config, .data = "coupled"}, torch::kCPU).experiment.validation, "");
  EXPECT_EQ(resolve({.config = config, .data = "coupled", .set = {"data.validation=mixture"}}, torch::kCPU)
                .experiment.validation,
            "mixture");
  write_text(config, "[data]\nvalidation = \"mixture\"\n");
  EXPECT_EQ(resolve({.config = config, .data = "coupled"}, torch::kCPU).experiment.validation, "mixture")
      << "a config without data has no data of its own";
}

// Under a time limit too: a network with sizes of its own is not made to fit.
TEST(Resolve, AConfigWithANetworkIsNotFittedIntoTheTime) {
  const ScratchFolder folder;
  const std::string config = (folder / "my.toml").string();
  write_text(config, "[data]\nsource = \"glyphs\"\n[net]\nkind = \"unet\"\n");
  EXPECT_EQ(all_keys(resolve({.config = config}, torch::kCPU, /*max_seconds=*/1.0).experiment),
            all_keys(resolve({.config = config}, torch::kCPU).experiment));
}

TEST(Resolve, SaysWhatItChose) {
  std::string said;
  const auto found =
      resolve({.data = "coupled", .tell = [&](const std::string& text) { said += text; }}, torch::kCPU).experiment;
  EXPECT_EQ(found.net.kind, "latent_class");
  EXPECT_TRUE(test::contains(said, "a mixture of products"));
}

}  // namespace
}  // namespace segre::resolve_test
