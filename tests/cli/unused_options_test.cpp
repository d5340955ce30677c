// Options that the chosen method does not use are refused, not ignored.

#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::unused_options_test {
namespace {

using test::Arguments;
using test::run_program;
using test::operator+;

TEST(CliUnusedOptions, ConvergenceNamesTheOptionAndTheChoice) {
  const test::ScratchFolder folder;
  const auto run = folder / "run";
  ASSERT_EQ(run_program(test::tiny_training("coupled", run, 1)).exit_code, 0);
  const auto error = [&](const Arguments& more) {
    const auto result = run_program(Arguments{"convergence", run.string(), "--data", "coupled", "--items", "2",
                                              "--draws", "4", "--out", (folder / "out").string()} +
                                    more);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
    return result.err;
  };
  EXPECT_EQ(error({"--mass", "0.5"}), "segre: --mass is not used with --bound path\n");
  EXPECT_EQ(error({"--stride", "4"}), "segre: --stride is not used with --trace hutchinson\n");
  EXPECT_EQ(error({"--trace", "exact", "--probes", "2"}), "segre: --probes is not used with --trace exact\n");
  const auto used = run_program({"convergence", run.string(), "--data",  "coupled", "--items",
                                 "2",           "--draws",    "4",       "--bound", "ball",
                                 "--mass",      "0.5",        "--trace", "lattice", "--stride",
                                 "1",           "--probes",   "2",       "--out",   (folder / "out").string()});
  EXPECT_EQ(used.exit_code, 0) << used.err;
}

}  // namespace
}  // namespace segre::unused_options_test
