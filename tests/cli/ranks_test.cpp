// Commands started by a launcher, as several processes on this machine.

#include "segre/core/text.h"
#include "segre/io/files.h"
#include "segre/ranks/join.h"
#include "tests/support/launched.h"
#include "tests/support/messages.h"

namespace segre::ranks_test {
namespace {

using test::Arguments;
using test::contains;
using test::run_program;
using test::run_ranks;
using test::ScratchFolder;
using test::operator+;

constexpr int kBadInput = 2;

// A tiny model of a table with missing cells, trained once.
class CliRanks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    std::string text = "sky,ground\n";
    for (int k = 0; k < 2600; ++k)
      text += std::string(k % 11 == 3 ? "" : k % 2 == 0 ? "sun" : "rain") + (k % 3 == 0 ? ",wet\n" : ",dry\n");
    test::write_text(*folder_ / "t.csv", text);
    const auto trained =
        run_program(test::tiny_training(source(), *folder_ / "run", 50) + Arguments{"--set", "train.evidence=any"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo";
  }

  static std::string source() { return concat("csv:", (*folder_ / "t.csv").string(), "?missing=unknown"); }
  static std::string run() { return (*folder_ / "run").string(); }
  static std::string file(const std::string& name) { return (*folder_ / name).string(); }

  // Lets 1, 2, 3 and 4 ranks write the same files, whose names follow the options, and compares them.
  static void expect_the_same_files(const Arguments& arguments, const std::vector<std::string>& options) {
    std::vector<std::string> expected;
    for (int size = 1; size <= 4; ++size) {
      Arguments all = arguments;
      for (size_t k = 0; k < options.size(); ++k) all = all + Arguments{options[k], name_of(k, size)};
      const auto results = run_ranks(size, all);
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(results[rank].exit_code, 0) << "rank " << rank << " of " << size << ": " << results[rank].err;
        EXPECT_EQ(results[rank].out, "");
        EXPECT_EQ(results[rank].err.empty(), rank > 0) << results[rank].err;
      }
      for (size_t k = 0; k < options.size(); ++k) {
        const std::string found = read_file(name_of(k, size));
        if (size == 1) expected.push_back(found);
        EXPECT_TRUE(found == expected[k]) << options[k] << " of " << size << " ranks";
      }
    }
  }

 private:
  static std::string name_of(size_t option, int size) { return file(concat("out", option, "-", size, ".csv")); }
  static inline std::unique_ptr<ScratchFolder> folder_;
};

TEST_F(CliRanks, SampleTheSameBytes) {
  expect_the_same_files({"sample", run(), "--count", "5000", "--seed", "3"}, {"--out"});
}

// Each writes its parts; three of them have one each.
TEST_F(CliRanks, FillOneFolderTogether) {
  for (const int size : {1, 3}) {
    const auto results =
        run_ranks(size, {"sample", run(), "--count", "140000", "--steps", "1", "--out", file(concat("parts-", size))});
    for (const auto& result : results) EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  const std::string index = read_file(file("parts-1") + "/index.csv");
  EXPECT_EQ(index, "file,first,count\n000000000.csv,0,65536\n000065536.csv,65536,65536\n000131072.csv,131072,8928\n");
  for (const char* name : {"/index.csv", "/000000000.csv", "/000065536.csv", "/000131072.csv"})
    EXPECT_TRUE(read_file(file("parts-3") + name) == read_file(file("parts-1") + name)) << name;
}

TEST_F(CliRanks, ScoreTheSameBytes) {
  expect_the_same_files({"likelihood", run(), "--data", source(), "--error", "0.1"}, {"--out", "--per-variable"});
}

TEST_F(CliRanks, CompleteTheSameBytes) {
  expect_the_same_files({"complete", run(), "--data", source()}, {"--out", "--probabilities"});
}

TEST_F(CliRanks, DetectTheSameAndWriteOneFolder) {
  test::write_text(file("full.csv"), "sky,ground\nsun,wet\nrain,dry\nsun,dry\nrain,wet\nsun,dry\n");
  const std::string full = "csv:" + file("full.csv");
  const Arguments ood{"ood", run(), "--inside", full, "--outside", full, "--train", full, "--out"};
  for (const int size : {1, 3}) {
    const auto results = run_ranks(size, ood + Arguments{file(concat("ood-", size))});
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ(results[rank].exit_code, 0) << "rank " << rank << " of " << size << ": " << results[rank].err;
      EXPECT_EQ(results[rank].out.empty(), rank > 0) << results[rank].out;
      EXPECT_EQ(results[rank].err.empty(), rank > 0) << results[rank].err;
    }
  }
  for (const char* name : {"/scores.csv", "/auroc.csv", "/report.html"})
    EXPECT_TRUE(read_file(file("ood-3") + name) == read_file(file("ood-1") + name)) << name;
}

TEST_F(CliRanks, WorkAloneWhereTheyCannotShare) {
  const auto results = run_ranks(2, {"oracle", "--labels", "2,2"});
  for (const auto& result : results) {
    EXPECT_EQ(result.exit_code, kBadInput);
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(results[0].err, "segre: segre oracle works alone: WORLD_SIZE sets 2 ranks; start it without a launcher\n");
  EXPECT_EQ(results[1].err, "");
  EXPECT_EQ(
      run_ranks(1, {"oracle", "--labels", "2,2", "--times", "4", "--draws", "2", "--trajectories", "100"})[0].exit_code,
      0);
}

TEST_F(CliRanks, NameTheLauncher) {
  test::Launched keys(2, {"keys"}, {"TORCHELASTIC_RUN_ID=none"});
  EXPECT_EQ(keys.wait()[0].err,
            "segre: segre keys works alone: torchrun started 2 ranks; start it without a launcher\n");
}

TEST_F(CliRanks, EndTogetherOnBadInput) {
  const auto results = run_ranks(2, {"sample", file("none"), "--count", "5", "--out", file("none.csv")});
  for (const auto& result : results) EXPECT_NE(result.exit_code, 0);
  EXPECT_TRUE(contains(results[0].err, "is not a trained run"));
  EXPECT_FALSE(std::filesystem::exists(file("none.csv")));
}

TEST_F(CliRanks, DoctorHasALineForEach) {
  const auto results = run_ranks(3, {"doctor"});
  for (const auto& result : results) EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(results[0].out, "\nranks      3, launcher environment, engine Gloo\n"));
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_TRUE(contains(results[0].out, concat("\nrank ", rank, "     "))) << results[0].out;
  EXPECT_EQ(results[1].out, "");
  EXPECT_TRUE(contains(run_program({"doctor"}).out, "\nranks      possible"));
}

}  // namespace
}  // namespace segre::ranks_test
