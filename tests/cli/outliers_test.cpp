// segre outliers, run as users run it.

#include <cmath>
#include <set>

#include "segre/core/rng.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::outliers_test {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

constexpr int kBadInput = 2;

// A model of two coupled columns, sun with dry and rain with wet, and an independent wind.
class CliOutliers : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = "sky,ground,wind\n";
    for (int k = 0; k < 60; ++k)
      text += std::string(k % 2 == 0 ? "sun,dry," : "rain,wet,") + (k % 5 < 2 ? "yes\n" : "no\n");
    write_text(folder_ / "t.csv", text);
    const auto result = run_program(tiny_training(source("t.csv"), folder_ / "run", 800) +
                                    Arguments{"--set", "net.hidden=[32]", "--set", "train.lr=0.01"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    // Line 4 has a combination that never occurs in training; line 3 is blank.
    write_text(folder_ / "new.csv", "sky,ground,wind\nsun,dry,no\n\nsun,wet,no\nrain,wet,yes\nsun,dry,no\n");
  }

  std::string source(const std::string& name) const { return "csv:" + (folder_ / name).string(); }
  test::ProgramResult outliers(const Arguments& more = {}) const {
    return run_program(Arguments{"outliers", (folder_ / "run").string(), "--data", source("new.csv")} + more);
  }
  test::ProgramResult to_file(const Arguments& more = {}) const {
    return outliers(Arguments{"--out", (folder_ / "odd.csv").string()} + more);
  }
  std::vector<CsvRow> table() const { return read_csv(folder_ / "odd.csv"); }
  ScratchFolder folder_;
};

TEST_F(CliOutliers, PutsTheCombinationThatTrainingNeverHadFirst) {
  const auto result = to_file();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = table();
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].fields,
            (std::vector<std::string>{"rank", "item", "place", "score", "std_error", "percentile", "column", "pair",
                                      "pair_seen", "pair_expected", "nats", "nats_error", "independent", "outside",
                                      "sky", "ground", "wind"}));
  const auto& first = rows[1].fields;
  EXPECT_EQ(first[0], "1");
  EXPECT_EQ(first[1], "1");
  EXPECT_EQ(first[2], (folder_ / "new.csv").string() + ":4") << "its line, blank ones counted";
  EXPECT_GT(std::stod(first[5]), 95.0) << "odder than all training rows";
  EXPECT_EQ((std::vector<std::string>(first.begin() + 14, first.end())),
            (std::vector<std::string>{"sun", "wet", "no"}));
  EXPECT_TRUE(first[6] == "sky" || first[6] == "ground") << first[6];
  EXPECT_EQ(first[7], "sky = sun with ground = wet");
  EXPECT_EQ(first[8], "0");
  // sun and wet each make up half of the rows, no three fifths; half a count is added to each.
  EXPECT_NEAR(std::stod(first[12]), -2.0 * std::log(0.5) - std::log(36.5 / 61.0), 0.15) << "some rows were held out";
  EXPECT_TRUE(result.out.starts_with("rank ")) << result.out;
  EXPECT_TRUE(contains(result.out, "sky = sun with ground = wet: 0, ")) << result.out;
  EXPECT_TRUE(contains(result.err, "1 of 4 rows have a pair of labels that none of ")) << result.err;
  EXPECT_TRUE(contains(result.err, "; percentiles are among ")) << result.err;
}

TEST_F(CliOutliers, RowsAreThoseOfTheFileWhereSomeAreLeftOut) {
  write_text(folder_ / "new.csv", "sky,ground,wind\nhail,dry,no\nsun,dry,no\nhail,dry,no\nsun,wet,no\n");
  const auto result =
      run_program(Arguments{"outliers", (folder_ / "run").string(), "--data", source("new.csv") + "?unseen=skip",
                            "--out", (folder_ / "odd.csv").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(table()[1].fields[1], "3");
  EXPECT_EQ(table()[2].fields[1], "1");
}

// As in the other commands, columns are matched by name, whatever else is in the file.
TEST_F(CliOutliers, ColumnsAreMatchedByNameAndOthersIgnored) {
  std::string text = "wind,id,ground,sky\n";
  for (int k = 0; k < 100; ++k) text += "no,row" + std::to_string(k) + (k == 70 ? ",wet,sun\n" : ",dry,sun\n");
  write_text(folder_ / "new.csv", text);
  const auto result = to_file();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "ignoring column id, which is not in the model"));
  EXPECT_EQ(table()[1].fields[1], "70");
}

TEST_F(CliOutliers, EqualRowsHaveOneScoreAndErrorsAreAsAskedFor) {
  ASSERT_EQ(to_file({"--error", "0.05"}).exit_code, 0);
  auto rows = table();
  std::vector<std::string> equal;
  for (size_t k = 1; k < rows.size(); ++k) {
    EXPECT_LE(std::stod(rows[k].fields[4]), 0.05);
    if (rows[k].fields[1] == "0" || rows[k].fields[1] == "3") equal.push_back(rows[k].fields[3]);
  }
  ASSERT_EQ(equal.size(), 2U);
  EXPECT_EQ(equal[0], equal[1]);
  const auto capped = to_file({"--error", "0.0001", "--times", "64"});
  EXPECT_TRUE(contains(capped.err, "scored with 64 to 64 evaluations each")) << capped.err;
  EXPECT_TRUE(contains(capped.err, "the target was 0.0001")) << capped.err;
}

TEST_F(CliOutliers, WithoutAFileTheFirstRowsAreTheResult) {
  const auto result = outliers({"--top", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3) << "a header and two rows";
  const auto piped = outliers({"--out", "-", "--items", "2"});
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_TRUE(piped.out.starts_with("rank,item,place,score,")) << piped.out;
  EXPECT_EQ(std::count(piped.out.begin(), piped.out.end(), '\n'), 3) << "a header and two items";
}

TEST_F(CliOutliers, TrainingDataThatAreGoneAreAskedFor) {
  fs::rename(folder_ / "t.csv", folder_ / "moved.csv");
  const auto result = to_file();
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, "); give them with --train SOURCE")) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "odd.csv"));
  EXPECT_EQ(to_file({"--train", source("moved.csv")}).exit_code, 0);
}

// Whoever trains on millions of rows waits for each reading.
TEST(CliOutliersOfALargeFile, TheTrainingDataAreReadOnce) {
  const ScratchFolder folder;
  std::string text = "sky;ground\n";
  for (int k = 0; k < 200; ++k) text += k % 2 == 0 ? "sun;dry\n" : "rain;wet\n";
  write_text(folder / "t.csv", text);
  write_text(folder / "new.csv", "sky,ground\nsun,wet\n");
  ASSERT_EQ(run_program(tiny_training("csv:" + (folder / "t.csv").string(), folder / "run", 2)).exit_code, 0);
  const auto result = run_program(
      {"outliers", (folder / "run").string(), "--data", "csv:" + (folder / "new.csv").string(), "--times", "32"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "percentiles are among 10 held-out items")) << result.err;
  const std::string words = "t.csv: fields are separated by";
  const auto first = result.err.find(words);
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find(words, first + 1), std::string::npos) << result.err;
}

TEST_F(CliOutliers, TrainingDataThatWereOverwrittenAreRefused) {
  write_text(folder_ / "t.csv", read_file(folder_ / "t.csv") + "sun,dry,no\n");
  const auto result = to_file();
  test::expect_overwritten(result, folder_ / "t.csv");
  EXPECT_FALSE(fs::exists(folder_ / "odd.csv"));
  EXPECT_EQ(to_file({"--train", source("t.csv")}).exit_code, 0) << "data that the user names are taken as they are";
}

// Rows of a chain of eight columns with six labels each, in which a label is that of the column before it or the next
// one half of the time, else any.
std::string chain_rows(int count, uint64_t seed) {
  constexpr int kColumns = 8;
  constexpr int kLabels = 6;
  const RandomStream random{seed, Purpose::probe};
  std::string text = "c0,c1,c2,c3,c4,c5,c6,c7\n";
  for (int k = 0; k < count; ++k)
    for (int i = 0, label = 0; i < kColumns; ++i) {
      const auto at = static_cast<uint64_t>(2 * (k * kColumns + i));
      const bool any = i == 0 || uniform_double(random, at) < 0.5;
      label = (label + static_cast<int>((any ? kLabels : 2) * uniform_double(random, at + 1))) % kLabels;
      text += concat(label, i + 1 < kColumns ? ',' : '\n');
    }
  return text;
}

// A network that knows its few training rows by heart finds any other row odd, ordinary ones too. Percentiles must be
// those of rows that it has not seen.
TEST(CliOutliersPercentiles, OneInTwentyOrdinaryRowsReachesThe95th) {
  constexpr int kRows = 1000;  // held out, and fresh
  const ScratchFolder folder;
  const auto source = [&](const std::string& name, int count, uint64_t seed) {
    write_text(folder / name, chain_rows(count, seed));
    return "csv:" + (folder / name).string();
  };
  const auto held_out = source("held.csv", kRows, 2);
  const auto trained =
      run_program(tiny_training(source("t.csv", 160, 1), folder / "run", 1500) +
                  Arguments{"--set", "data.validation=" + held_out, "--set", "net.hidden=[64]", "--set",
                            "train.lr=0.01", "--set", "train.evidence=any", "--set", "watch.use_best=false", "--set",
                            "watch.evaluations=4", "--set", concat("watch.items=", kRows)});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto result = run_program({"outliers", (folder / "run").string(), "--data", source("new.csv", kRows, 3),
                                   "--out", (folder / "odd.csv").string(), "--times", "32"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "percentiles are among 1000 held-out items")) << result.err;
  const auto rows = read_csv(folder / "odd.csv");
  ASSERT_EQ(rows.size(), kRows + 1U);
  int reached = 0;
  for (size_t k = 1; k < rows.size(); ++k) reached += std::stod(rows[k].fields[5]) >= 95.0 ? 1 : 0;
  // Both the fresh rows and the held-out ones that set the bar are draws: two binomial variances.
  const double error = std::sqrt(0.05 * 0.95 * (1.0 / kRows + 1.0 / kRows));
  EXPECT_NEAR(reached / static_cast<double>(kRows), 0.05, 4.0 * error);
}

TEST(CliOutliersOfNumbers, ValuesThatTrainingNeverReachedAreNamedAndThoseFarAwayFirst) {
  const ScratchFolder folder;
  std::string text = "age,member\n";
  for (int k = 0; k < 80; ++k) text += concat(17 + k, k % 2 == 0 ? ",no\n" : ",yes\n");
  write_text(folder / "t.csv", text);
  const auto source = [&](const std::string& name) { return "csv:" + (folder / name).string(); };
  const auto trained = run_program(tiny_training(source("t.csv") + "?bins=age:8", folder / "run", 2));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  write_text(folder / "new.csv", "age,member\n30,no\n40,yes\n1e9,no\n50,no\n16,yes\n-20,no\n");
  const auto result = run_program(
      {"outliers", (folder / "run").string(), "--data", source("new.csv"), "--out", (folder / "odd.csv").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = read_csv(folder / "odd.csv");
  ASSERT_EQ(rows.size(), 7U);
  ASSERT_EQ(rows[0].fields[13], "outside");
  std::set<std::string> first;
  for (const size_t k : {1U, 2U}) {
    EXPECT_EQ(rows[k].fields[5], "100");
    first.insert(rows[k].fields[1] + " " + rows[k].fields[13]);
  }
  EXPECT_EQ(first, (std::set<std::string>{"2 age = 1e9, not 17 to 96", "5 age = -20, not 17 to 96"}));
  for (size_t k = 3; k < 7; ++k) {
    EXPECT_EQ(rows[k].fields[13], rows[k].fields[1] == "4" ? "age = 16, not 17 to 96" : "");
    EXPECT_LT(std::stod(rows[k].fields[5]), 100.0);
  }
  EXPECT_TRUE(contains(result.out, " age = 1e9, not 17 to 96 ")) << result.out;
  EXPECT_TRUE(contains(result.err, (folder / "new.csv").string() + ":4 age = 1e9 (17 to 96, 1e+09 above)"))
      << result.err;
  EXPECT_TRUE(contains(result.err,
                       "3 of 6 rows have values outside the range of training, which the model sees as the "
                       "nearest interval; 2 of them by more than the width of that interval: ranked "
                       "first, at percentile 100\n"))
      << result.err;
}

TEST_F(CliOutliers, SaysWhatIsWrong) {
  EXPECT_EQ(outliers({"--error", "0"}).err, "segre: --error 0: expected nats above 0, such as 0.1\n");
  write_text(folder_ / "new.csv", "sky,ground,wind\nhail,dry,no\nsun,dry,no\n");
  const auto result = to_file();
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, "new.csv:2: column sky has the label 'hail', which training never saw"));
}

}  // namespace
}  // namespace segre::outliers_test
