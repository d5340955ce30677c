// segre evaluate, run as users run it.

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/report/picture.h"
#include "segre/sources/source_kinds.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::evaluate_test {
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

// A run trained on a table with named labels, in its own folder.
class CliEvaluate : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = "sky,wind\n";
    for (int k = 0; k < 40; ++k) text += k % 3 == 0 ? "snow,no\n" : k % 2 == 0 ? "rain,yes\n" : "sun,no\n";
    write_text(table(), text);
    text = "sky,wind\n";
    for (int k = 0; k < 10; ++k) text += "sun,no\nsun,yes\nrain,yes\nrain,no\n";
    write_text(file("held.csv"), text);
    const auto result = run_program(tiny_training("csv:" + table().string(), run(), 3));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  fs::path table() const { return folder_ / "t.csv"; }
  fs::path run() const { return folder_ / "run"; }
  fs::path file(const std::string& name) const { return folder_ / name; }

  test::ProgramResult evaluate(const std::string& data, const Arguments& more = {}) const {
    return run_program(
        Arguments{"evaluate", run().string(), "--data", data, "--out", file("out").string(), "--count", "50"} + more);
  }
  // The message of a bad call, without "segre: " and the newline; nothing may have been written.
  std::string evaluate_error(const std::string& data, const Arguments& more = {}) const {
    const auto result = evaluate(data, more);
    EXPECT_EQ(result.exit_code, kBadInput) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(file("out")));
    std::string message = test::after("segre: ", result.err);
    EXPECT_EQ(message.find('\n'), message.size() - 1) << "one line";
    message.pop_back();
    return message;
  }

 private:
  ScratchFolder folder_;
};

TEST_F(CliEvaluate, PrintsATableAndWritesItsFiles) {
  // The held-out table lacks one of the model's labels: labels are matched by name.
  const auto result = evaluate("csv:" + file("held.csv").string());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"better", "marginals", "all pairs", "total variation between", "exact copies of training"})
    EXPECT_TRUE(contains(result.out, part));
  EXPECT_TRUE(contains(result.err, "50 samples of "));
  EXPECT_TRUE(contains(result.err, " training items of csv:"));
  const auto rows = read_csv(file("out") / "metrics.csv");
  EXPECT_GT(rows.size(), 8U);
  for (size_t r = 1; r < rows.size(); ++r)
    EXPECT_TRUE(rows[r].fields[8] == "lower" || rows[r].fields[8] == "as reference") << rows[r].fields[8];
  EXPECT_EQ(read_csv(file("out") / "neighbours.csv").size(), 50U * 6 + 1);
  EXPECT_TRUE(contains(read_file(file("out") / "report.html"), "</html>"));
  EXPECT_FALSE(fs::exists(file("out") / "neighbours.png"));
}

TEST_F(CliEvaluate, ZeroItemsAreAll) {
  const auto data = "csv:" + file("held.csv").string();
  EXPECT_TRUE(contains(evaluate(data, {"--items", "7"}).err, "compared with 7 items"));
  EXPECT_TRUE(contains(evaluate(data, {"--items", "0"}).err, "compared with 40 items"));
  fs::remove_all(file("out"));
  EXPECT_EQ(evaluate_error(data, {"--items", "1"}), "--data " + data + ": has 1 item, at least 2 are needed");
}

TEST_F(CliEvaluate, TheSeedDecides) {
  const auto data = "csv:" + file("held.csv").string();
  const auto first = evaluate(data, {"--seed", "5"}).out;
  EXPECT_EQ(evaluate(data, {"--seed", "5"}).out, first);
  EXPECT_NE(evaluate(data, {"--seed", "6"}).out, first);
}

TEST_F(CliEvaluate, AsksForTheTrainingDataWhereTheyAreGone) {
  const auto kept = file("kept.csv");
  fs::rename(table(), kept);
  const std::string message = evaluate_error("csv:" + file("held.csv").string());
  EXPECT_TRUE(message.starts_with("the run's training data cannot be opened (")) << message;
  EXPECT_TRUE(message.ends_with("); give them with --train SOURCE")) << message;
  const auto result = evaluate("csv:" + file("held.csv").string(), {"--train", "csv:" + kept.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "40 training items of csv:"));
}

TEST_F(CliEvaluate, RefusesTrainingDataThatWereOverwritten) {
  write_text(table(), read_file(table()) + "sun,no\n");
  const auto held_out = "csv:" + file("held.csv").string();
  test::expect_overwritten(evaluate(held_out), table());
  EXPECT_FALSE(fs::exists(file("out")));
  EXPECT_EQ(evaluate(held_out, {"--train", "csv:" + table().string()}).exit_code, 0);
}

TEST_F(CliEvaluate, WarnsWhereTheTrainingItemsAreTheHeldOutOnes) {
  EXPECT_TRUE(contains(evaluate("csv:" + table().string()).err, "Warning: the held-out items are the training items"));
}

TEST_F(CliEvaluate, NamesALabelThatTheModelDoesNotKnow) {
  write_text(file("held.csv"), "sky,wind\nhail,no\nsun,yes\n");
  const std::string source = "csv:" + file("held.csv").string();
  EXPECT_EQ(
      evaluate_error(source),
      file("held.csv").string() +
          ":2: column sky has the label 'hail', which training never saw; it has rain, snow, sun (if it can "
          "occur, train with it declared: labels= or dictionary= of csv:, a row with p = 0 of joint:); unseen=skip "
          "leaves such rows out");
}

TEST_F(CliEvaluate, RefusesDataOfAnotherKindAndOtherKeys) {
  EXPECT_EQ(evaluate_error("glyphs"), "--data glyphs: " + open_source("glyphs")->space().describe() +
                                          ", expected table of 2 variables with 2 to 3 labels");
  EXPECT_EQ(evaluate_error("csv:" + file("held.csv").string(), {"--set", "train.steps=4"}),
            "--set train.steps=4: only keys of sample.* can be changed after training");
  write_text(file("one.csv"), "sky,wind\nsun,no\n");
  EXPECT_EQ(evaluate_error("csv:" + file("one.csv").string()),
            concat("--data csv:", file("one.csv").string(), ": has 1 item, at least 2 are needed"));
}

TEST_F(CliEvaluate, AKnownDistributionThatLacksALabelIsStillTheExactOne) {
  write_text(file("j.csv"), "sky,wind,p\nsun,no,0.5\nrain,yes,0.5\n");
  const auto result = evaluate("joint:" + file("j.csv").string());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "total variation to the exact distribution"));
}

TEST(CliEvaluateJoint, AKnownDistributionGivesTotalVariationAndNoNeighbours) {
  const ScratchFolder folder;
  ASSERT_EQ(run_program(tiny_training("coupled", folder / "run", 3)).exit_code, 0);
  const auto result = run_program({"evaluate", (folder / "run").string(), "--data", "coupled", "--out",
                                   (folder / "out").string(), "--count", "100", "--items", "200"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "total variation to the exact distribution"));
  EXPECT_EQ(result.out.find("memorisation"), std::string::npos);
  EXPECT_TRUE(contains(result.err, "compared with 200 items of coupled"));
  EXPECT_TRUE(contains(result.err, "generated endlessly: there are none to copy"));
  EXPECT_FALSE(fs::exists(folder / "out/neighbours.csv"));
}

TEST(CliEvaluateImages, MirroredTrainingImagesAreSearchedToo) {
  const ScratchFolder folder;
  const Dataset dataset = test::stripes();
  fs::create_directory(folder / "maps");
  write_label_maps(folder / "maps", dataset.space, dataset.labels, 0);
  const std::string source = "png:" + (folder / "maps").string();
  ASSERT_EQ(run_program(tiny_training(source, folder / "run", 3)).exit_code, 0);
  const auto result = run_program({"evaluate", (folder / "run").string(), "--data", source, "--train",
                                   source + "?flip=1", "--out", (folder / "out").string(), "--count", "30"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "64 training items of " + source + "?flip=1, and their mirror images"));
  EXPECT_TRUE(contains(result.out, "neighbouring pixels that differ"));
  EXPECT_TRUE(fs::exists(folder / "out/neighbours.png"));
}

}  // namespace
}  // namespace segre::evaluate_test
