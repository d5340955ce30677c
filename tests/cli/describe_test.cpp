// segre describe: what a network costs, and what is expected of it on many GPUs.

#include "segre/core/text.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::describe_test {
namespace {

using test::Arguments;
using test::contains;
using test::operator+;
using test::run_program;
using test::ScratchFolder;
using test::write_text;

constexpr int kBadInput = 2;

std::string config(const char* name) { return concat(SEGRE_SOURCE_DIR, "/configs/", name); }

std::string described(const Arguments& arguments) {
  const auto result = run_program(Arguments{"describe"} + arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

std::string refused(const Arguments& arguments) {
  const auto result = run_program(Arguments{"describe"} + arguments);
  EXPECT_EQ(result.exit_code, kBadInput) << result.out;
  EXPECT_EQ(result.out, "");
  return result.err;
}

// The cells of the table's row for a number of ranks; the last are the words of what bounds it.
std::vector<std::string> row_of(const std::string& text, const std::string& ranks) {
  for (const std::string& line : split(text, '\n')) {
    std::vector<std::string> cells;
    for (const std::string& cell : split(line, ' '))
      if (!cell.empty()) cells.push_back(cell);
    if (cells.size() > 10 && cells[0] == ranks) return cells;
  }
  return {};
}

TEST(CliDescribe, ATransformerOfABillionParametersIsPlannedWithoutItsMemory) {
  const std::string text = described({config("transformer_1b.toml"), "--ranks", "8,64,1024"});
  EXPECT_TRUE(contains(text, "network      transformer, 1011343360 parameters")) << text;
  for (const char* ranks : {"1", "8", "64", "1024"}) EXPECT_FALSE(row_of(text, ranks).empty()) << ranks << text;
  EXPECT_EQ(row_of(text, "64")[1], "16") << "items per rank";
  EXPECT_EQ(row_of(text, "1")[3], "0") << "one rank exchanges nothing";
  EXPECT_TRUE(contains(text, "\nassumed ")) << text;
  EXPECT_TRUE(contains(text, "\nshare        as measured on one H200: transformer of 11.3 million weights")) << text;
  EXPECT_TRUE(contains(text, "\nbound by ")) << text;
}

TEST(CliDescribe, SaysThatABatchIsTooSmallToBeDivided) {
  const std::string text = described({config("streets.toml"), "--ranks", "64"});
  ASSERT_FALSE(row_of(text, "64").empty()) << text;
  EXPECT_EQ(row_of(text, "64").back(), "shards");
  EXPECT_TRUE(contains(text, "a batch of 16 divides into 16 parts")) << text;
}

TEST(CliDescribe, WithoutRanksThereIsNoPlan) { EXPECT_FALSE(contains(described({config("streets.toml")}), "scaling")); }

TEST(CliDescribe, AssumptionsCanBeChanged) {
  const std::string text = described({config("streets.toml"), "--ranks", "8", "--assume", "share=0.5,node_ranks=4"});
  EXPECT_TRUE(contains(text, "share=0.5")) << text;
  EXPECT_TRUE(contains(text, "node_ranks=4")) << text;
  EXPECT_FALSE(contains(text, "as measured")) << text;
  EXPECT_NE(row_of(text, "8")[4], "0") << "two nodes";
}

TEST(CliDescribe, WrongRanksAndAssumptionsAreNamed) {
  const std::string streets = config("streets.toml");
  EXPECT_TRUE(contains(refused({streets, "--ranks", "0"}), "--ranks"));
  EXPECT_TRUE(contains(refused({streets, "--ranks", "many"}), "--ranks"));
  EXPECT_EQ(refused({streets, "--assume", "share=0.5"}),
            "segre: --assume share=0.5: applies to the plan that --ranks prints\n");
  EXPECT_EQ(refused({streets, "--ranks", "8", "--assume", "shar=0.5"}),
            "segre: --assume: unknown key shar; the nearest known key is share\n");
}

TEST(CliDescribe, ANetworkThatCouplesItemsDoesNotScale) {
  const std::string text = described(
      {"--data", "coupled", "--ranks", "8", "--set", "net.kind=mlp", "net.hidden=[8]", "net.batch_norm=true"});
  EXPECT_TRUE(contains(text,
                       "scaling      none: every rank does all of the work, since the items of a batch "
                       "influence each other\n"))
      << text;
}

TEST(CliDescribe, ARunNeedsNoData) {
  const ScratchFolder folder;
  const auto run = (folder / "run").string();
  const auto data = folder / "data.csv";
  write_text(data, "a,b\n0,0\n1,1\n0,1\n1,0\n");
  ASSERT_EQ(run_program(test::tiny_training("csv:" + data.string(), run, 3)).exit_code, 0);
  std::filesystem::remove(data);
  const std::string text = described({run, "--ranks", "8", "--set", "train.batch=128"});
  EXPECT_TRUE(contains(text, "mlp")) << text;
  EXPECT_TRUE(contains(text, "\n             3 steps, ")) << text;
  EXPECT_EQ(row_of(text, "8")[1], "16");
  EXPECT_EQ(refused({run, "--data", "coupled"}),
            concat("segre: --data coupled: ", run, " is a run, whose data are known\n"));
  const auto empty = (folder / "empty").string();
  std::filesystem::create_directory(empty);
  EXPECT_TRUE(contains(refused({empty}), empty));
}

}  // namespace
}  // namespace segre::describe_test
