// The command line given a run whose network is defined in another program.

#include <algorithm>

#include "tests/runs/custom.h"
#include "tests/runs/trained.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::custom_net_test {
namespace {

using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::operator+;

TEST(CliCustomNet, IsRefusedByEveryCommandInOneLine) {
  const ScratchFolder folder;
  TrainRunOptions options;
  options.field = test::two_layers("mine");
  const auto run = test::train_into(folder / "run", test::tiny_experiment(), options).string();
  const std::string out = folder / "out.csv";
  for (const test::Arguments& command : {test::Arguments{"sample", run, "--count", "3", "--out", out},
                                         {"likelihood", run, "--data", "coupled", "--items", "3"},
                                         {"evaluate", run, "--data", "coupled", "--out", folder / "page"},
                                         {"export", run, "--out", folder / "small"},
                                         {"train", "--resume", "--out", run}}) {
    const auto result = run_program(command);
    EXPECT_EQ(result.exit_code, 2) << command[0];
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(contains(result.err, "net.custom = \"mine\": a network that another program supplies")) << command[0];
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(CliCustomNet, CannotBeAskedFor) {
  const ScratchFolder folder;
  const auto result =
      run_program(test::tiny_training("coupled", folder / "run", 3) + test::Arguments{"--set", "net.custom=mine"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "segre: net.custom = \"mine\": a network that another program supplies"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

}  // namespace
}  // namespace segre::custom_net_test
