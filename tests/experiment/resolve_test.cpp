#include "segre/experiment/resolve.h"

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

TEST(Resolve, AConfigIsTakenAsItIs) {
  const ScratchFolder folder;
  write_text(folder / "my.toml", "[net]\nkind = \"tree\"\n");
  std::string said;
  const auto found = resolve({.config = (folder / "my.toml").string(),
                              .data = "coupled",
                              .tell = [&](const std::string& text) { said += text; }},
                             torch::kCPU)
                         .experiment;
  EXPECT_EQ(found.net.kind, "tree");
  EXPECT_EQ(found.train.steps, Experiment().train.steps);
  EXPECT_FALSE(found.watch.use_best);
  EXPECT_EQ(said, "");
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
