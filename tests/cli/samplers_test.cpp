// segre samplers, run as users run it.

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::samplers_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::run_program;

TEST(CliSamplers, WritesATableAndAPageAndNamesTheKnee) {
  const test::ScratchFolder folder;
  const fs::path run = folder / "run";
  const fs::path out = folder / "out";
  ASSERT_EQ(run_program(test::tiny_training("coupled", run, 3)).exit_code, 0);
  const auto result = run_program({"samplers", run.string(), "--out", out.string(), "--count", "2000",
                                   "--reference-steps", "50", "--data", "coupled"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "evaluations at which at most 0.5% of the labels differ from the reference:\n"));
  EXPECT_TRUE(contains(result.out, "\n  fewest: ")) << result.out;
  EXPECT_TRUE(contains(result.out, "% differ (95% interval 0.00% to ")) << result.out;

  const auto rows = read_csv(out / "samplers.csv");
  EXPECT_EQ(rows[0].fields[0], "sampler");
  EXPECT_EQ(rows[1].fields[0], "data");
  EXPECT_EQ(rows[2].fields[0], "reference");
  EXPECT_EQ(rows[2].fields[3], "200");
  for (const char* sampler : {"euler", "midpoint", "heun", "rk4", "ab2", "multistep", "dopri5", "sde"})
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const CsvRow& row) { return row.fields[0] == sampler; }))
        << sampler;
  EXPECT_TRUE(contains(read_file(out / "samplers.html"), "Labels that differ from the reference"));
}

TEST(CliSamplers, TooFewSamplesForAKneeAreSaidWithTheNumberThatWouldDo) {
  const test::ScratchFolder folder;
  const fs::path run = folder / "run";
  ASSERT_EQ(run_program(test::tiny_training("coupled", run, 3)).exit_code, 0);
  const auto result = run_program({"samplers", run.string(), "--out", (folder / "out").string(), "--count", "40",
                                   "--reference-steps", "50", "--most", "40"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "  rk4: not known from 40 samples; with "));
  EXPECT_TRUE(contains(result.out, " evaluations 0% of the labels differ, but up to "));
  EXPECT_TRUE(contains(result.out, " samples would decide\n"));
  EXPECT_TRUE(contains(result.out, "\n  no sampler is known to reach this\n"));
}

TEST(CliSamplers, DataOfAnotherKindAreRefused) {
  const test::ScratchFolder folder;
  const fs::path run = folder / "run";
  ASSERT_EQ(run_program(test::tiny_training("coupled", run, 3)).exit_code, 0);
  const auto result = run_program({"samplers", run.string(), "--out", (folder / "out").string(), "--data", "mixture"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "segre: --data mixture: "));
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace
}  // namespace segre::samplers_test
