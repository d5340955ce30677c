// The cache of labels beside the data, made by processes at the same time.

#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::cache_test {
namespace {

TEST(CliCache, TwoProcessesMakeOneAndBothUseIt) {
  const test::ScratchFolder folder;
  std::string text = "sky,wind\n";
  for (int k = 0; k < 50'000; ++k) text += concat(k % 3 == 0 ? "sun" : "rain", ",", k % 7, "\n");
  test::write_text(folder / "t.csv", text);
  const test::Arguments arguments{"data", "inspect", "csv:" + (folder / "t.csv").string() + "?cache=yes", "--json"};
  test::Program first(arguments);
  test::Program second(arguments);
  const auto one = first.wait();
  const auto two = second.wait();
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(one.out, two.out);
  const auto made = [](const test::ProgramResult& result) { return result.err.find(": holds ") != std::string::npos; };
  EXPECT_NE(made(one), made(two)) << one.err << two.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "t.csv.segre-cache"));
  EXPECT_FALSE(std::filesystem::exists(folder / "t.csv.segre-cache.lock"));
  const auto third = test::run_program(arguments);
  EXPECT_EQ(third.out, one.out);
  EXPECT_FALSE(made(third)) << third.err;
}

TEST(CliCache, IsExplainedWithTheSources) {
  const auto help = test::run_program({"data", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_TRUE(test::contains(help.out + help.err, ".segre-cache")) << help.out;
}

}  // namespace
}  // namespace segre::cache_test
