// segre evaluate, run as users run it.

#include <nlohmann/json.hpp>

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

// A table with a number that is 0 in three of four rows, and a label that depends on it.
void write_visits(const fs::path& path, int n_rows, int first) {
  std::string text = "value,bought\n";
  for (int k = first; k < first + n_rows; ++k) {
    const int mixed = k * 7919 % 1009;  // a permutation of 0 ... 1008, over and over
    text += k % 4 != 0 ? "0.0" : concat(0.25 * (mixed + 4));
    text += k % 4 != 0 ? (mixed % 20 == 0 ? ",yes\n" : ",no\n") : (mixed % 3 == 0 ? ",no\n" : ",yes\n");
  }
  write_text(path, text);
}

TEST(CliEvaluateTable, NumbersAreComparedAsNumbersAndAllMeasuresAreThere) {
  const ScratchFolder folder;
  write_visits(folder / "t.csv", 900, 0);
  write_visits(folder / "new.csv", 300, 900);
  const std::string source = "csv:" + (folder / "t.csv").string();
  const std::string held_out = "csv:" + (folder / "new.csv").string();
  ASSERT_EQ(run_program(tiny_training(source, folder / "run", 3)).exit_code, 0);
  const Arguments arguments{"evaluate", (folder / "run").string(), "--data", held_out, "--count", "200"};
  const auto result = run_program(arguments + Arguments{"--out", (folder / "out").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part :
       {"Kolmogorov-Smirnov distance, largest", "share of columns significantly off",
        "mean difference per pair, in nats", "AUC against held-out rows", "tested on held-out rows: bought",
        "exact copies of training rows", "AUC of the model's log p", "independent", "Boosted trees "})
    EXPECT_TRUE(contains(result.out, part)) << part << '\n' << result.out;
  const std::string page = read_file(folder / "out" / "report.html");
  for (const char* part : {"Verdict", "Dependence of pairs of columns", "Nearest training rows", "value"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_EQ(read_csv(folder / "out" / "columns.csv").size(), 3U);
  EXPECT_EQ(read_csv(folder / "out" / "neighbours.csv").size(), 2 * 200U + 1);
  const auto json = nlohmann::json::parse(run_program(arguments + Arguments{"--json"}).out);
  EXPECT_EQ(json["columns"][0]["name"], "value");
  EXPECT_EQ(json["columns"][0]["measure"], "Kolmogorov-Smirnov distance");
  EXPECT_EQ(json["pairs"].size(), 1U);
  EXPECT_EQ(json["left_out"], nlohmann::json::array());
  EXPECT_GE(json["verdicts"].size(), 3U);
}

TEST(CliEvaluateTable, AnybodysRowsNeedNoModel) {
  const ScratchFolder folder;
  write_visits(folder / "t.csv", 900, 0);
  write_visits(folder / "new.csv", 300, 900);
  write_visits(folder / "good.csv", 300, 1500);
  std::string bad = "bought,value\n";  // in another order, without a zero
  for (int k = 0; k < 300; ++k) bad += concat(k % 3 == 0 ? "yes," : "no,", 0.25 * (k + 1), '\n');
  write_text(folder / "bad.csv", bad);
  const auto of = [&](const std::string& samples, const Arguments& more) {
    return run_program(Arguments{"evaluate", "--samples", "csv:" + (folder / samples).string(), "--data",
                                 "csv:" + (folder / "new.csv").string(), "--json"} +
                       more);
  };
  const Arguments train{"--train", "csv:" + (folder / "t.csv").string()};
  const auto good = nlohmann::json::parse(of("good.csv", train).out);
  EXPECT_EQ(good["verdicts"][0], "No column is significantly off.");
  EXPECT_EQ(good["left_out"], nlohmann::json::array({"membership attack: there is no model"}));
  const auto found = nlohmann::json::parse(of("bad.csv", train).out);
  EXPECT_TRUE(contains(found["verdicts"][0].get<std::string>(), "value (0: 0.00% of samples, 75.0% of held-out rows)"))
      << found["verdicts"][0];
  EXPECT_EQ(nlohmann::json::parse(of("bad.csv", {}).out)["left_out"].size(), 3U);
  const auto nothing = run_program({"evaluate", "--data", "coupled", "--json"});
  EXPECT_EQ(nothing.exit_code, kBadInput);
  EXPECT_TRUE(contains(nothing.err, "RUN is required")) << nothing.err;
  const auto target = of("good.csv", train + Arguments{"--target", "bougth"});
  EXPECT_EQ(target.exit_code, kBadInput);
  EXPECT_TRUE(target.err.ends_with("segre: target bougth: the table has no such column; the nearest is bought\n"))
      << target.err;
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
