// segre complete, predict and sample --given, run as users run them.

#include <cmath>
#include <map>

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::complete_test {
namespace {

using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

constexpr int kBadInput = 2;

std::string read_text(const std::filesystem::path& path) {
  std::string text;
  for (const CsvRow& row : read_csv(path)) {
    for (size_t i = 0; i < row.fields.size(); ++i) text += (i > 0 ? "," : "") + csv_field(row.fields[i]);
    text += '\n';
  }
  return text;
}

// Two coupled columns, sun with dry and rain with wet, and an independent wind; some cells are missing.
class CliComplete : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = "sky,ground,wind\n";
    for (int k = 0; k < 80; ++k)
      text += std::string(k % 11 == 3  ? ""
                          : k % 2 == 0 ? "sun"
                                       : "rain") +
              (k % 2 == 0 ? ",dry," : ",wet,") + (k % 5 < 2 ? "yes\n" : "no\n");
    write_text(folder_ / "t.csv", text);
    const auto result =
        run_program(tiny_training(source("t.csv") + "?missing=unknown", run(), 800) +
                    Arguments{"--set", "net.hidden=[32]", "--set", "train.lr=0.01", "--set", "train.evidence=any"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    // A note that the model does not know, a quoted comma, another order of columns, missing values in three forms.
    write_text(folder_ / "new.csv", "note,wind,sky,ground\n\"a, b\",no,sun,\nc,yes,NA,wet\nd,?,sun,dry\n");
  }

  std::string run() const { return (folder_ / "run").string(); }
  std::string source(const std::string& name) const { return "csv:" + (folder_ / name).string(); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  ScratchFolder folder_;
};

TEST_F(CliComplete, FillsMissingCellsAndKeepsTheRest) {
  const auto result = run_program({"complete", run(), "--data", source("new.csv"), "--best", "--out", file("out.csv"),
                                   "--probabilities", file("p.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_text(folder_ / "out.csv"),
            "note,wind,sky,ground\n\"a, b\",no,sun,dry\nc,yes,rain,wet\nd,no,sun,dry\n");
  EXPECT_FALSE(contains(result.err, "train.evidence")) << result.err;
  std::map<std::string, double> sums;
  const auto rows = read_csv(folder_ / "p.csv");
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"row", "column", "label", "probability"}));
  for (size_t k = 1; k < rows.size(); ++k) {
    const auto& f = rows[k].fields;
    sums[f[0] + f[1]] += std::stod(f[3]);
    if (f[1] == "ground") {
      EXPECT_EQ(std::stod(f[3]) > 0.9, f[2] == "dry");
    }
  }
  ASSERT_EQ(sums.size(), 3U);
  for (const auto& [cell, sum] : sums) EXPECT_NEAR(sum, 1.0, 1e-4) << cell;
}

// Of a table with the wind alone: sun goes with dry and rain with wet, whichever of them is the likelier.
TEST_F(CliComplete, ALikelyRowIsAChoiceOfItsOwn) {
  write_text(folder_ / "wind.csv", "wind\nno\nyes\n");
  const auto result =
      run_program({"complete", run(), "--data", source("wind.csv"), "--best=row", "--out", file("out.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "has no columns sky, ground, which are unknown in all rows")) << result.err;
  EXPECT_TRUE(contains(result.err, "2 items completed with a likely row each")) << result.err;
  const auto rows = read_csv(folder_ / "out.csv");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"wind", "sky", "ground"}));
  for (const size_t k : {1, 2}) EXPECT_EQ(rows[k].fields[2], rows[k].fields[1] == "sun" ? "dry" : "wet");
}

TEST_F(CliComplete, DrawsSeveralOfEach) {
  const Arguments base{"complete", run(), "--data", source("new.csv")};
  ASSERT_EQ(run_program(base + Arguments{"--draws", "3", "--out", file("three.csv")}).exit_code, 0);
  const auto rows = read_csv(folder_ / "three.csv");
  ASSERT_EQ(rows.size(), 10U);
  EXPECT_EQ(rows[0].fields.front(), "draw");
  for (size_t k = 1; k < rows.size(); ++k) EXPECT_EQ(rows[k].fields.front(), std::to_string((k - 1) % 3 + 1));
  // Draw 1 is the same however many there are, and for one item alone.
  ASSERT_EQ(run_program(base + Arguments{"--items", "1", "--out", file("one.csv")}).exit_code, 0);
  const auto one = read_csv(folder_ / "one.csv");
  ASSERT_EQ(one.size(), 2U);
  EXPECT_EQ(one[1].fields, std::vector<std::string>(rows[1].fields.begin() + 1, rows[1].fields.end()));
}

TEST_F(CliComplete, PredictsAColumn) {
  const Arguments predict{"predict", run(), "--column", "ground", "--out", file("p.csv"), "--data"};
  auto result = run_program(predict + Arguments{source("t.csv") + "?missing=unknown"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "80 rows predicted; of 80 with a known truth: accuracy 0.9")) << result.err;
  EXPECT_EQ(read_csv(folder_ / "p.csv")[0].fields,
            (std::vector<std::string>{"row", "label", "probability", "truth", "truth_probability"}));
  write_text(folder_ / "without.csv", "sky,wind\nrain,no\n");
  result = run_program(predict + Arguments{source("without.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = read_csv(folder_ / "p.csv");
  EXPECT_EQ(rows[1].fields[1], "wet");
  EXPECT_EQ(rows[1].fields.size(), 3U);
}

TEST_F(CliComplete, SamplesGivenLabels) {
  const Arguments base{"sample", run(), "--count", "50", "--out", file("s.csv"), "--given"};
  ASSERT_EQ(run_program(base + Arguments{"sky=rain"}).exit_code, 0);
  int wet = 0;
  const auto rows = read_csv(folder_ / "s.csv");
  for (size_t k = 1; k < rows.size(); ++k) {
    EXPECT_EQ(rows[k].fields[0], "rain");
    wet += rows[k].fields[1] == "wet" ? 1 : 0;
  }
  EXPECT_GE(wet, 45);
  const auto wrong = run_program(base + Arguments{"sky=hail"});
  EXPECT_EQ(wrong.exit_code, kBadInput);
  EXPECT_TRUE(contains(wrong.err, "--given sky=hail: sky has the labels rain, sun")) << wrong.err;
  EXPECT_TRUE(contains(run_program(base + Arguments{"skyy=rain"}).err, "the nearest is sky"));
}

TEST_F(CliComplete, ConditionalScoresAddUp) {
  write_text(folder_ / "full.csv", "sky,ground,wind\nsun,dry,no\nrain,wet,yes\n");
  const auto score = [&](const Arguments& more) {
    const auto result = run_program(Arguments{"likelihood", run(), "--data", source("full.csv"), "--bound", "order",
                                              "--order", "left-to-right", "--out", file("scores.csv")} +
                                    more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return std::stod(read_csv(folder_ / "scores.csv")[1].fields[1]);
  };
  const double all = score({"--per-variable", file("cells.csv")});
  const auto cells = read_csv(folder_ / "cells.csv");
  EXPECT_EQ(cells[0].fields, (std::vector<std::string>{"item", "sky", "ground", "wind"}));
  double sum = 0.0;
  for (size_t i = 1; i < 4; ++i) sum += std::stod(cells[1].fields[i]);
  EXPECT_NEAR(sum, -all, 1e-5);
  // The chain rule in the order of filling in, which starts with sky: the same evaluations.
  EXPECT_NEAR(score({"--given", "sky"}), all + std::stod(cells[1].fields[1]), 1e-5);
  // Two of the three: the others are left out, but not what is given.
  EXPECT_NEAR(score({"--only", "ground", "--given", "sky"}), -std::stod(cells[1].fields[2]), 1e-5);
  const auto wrong =
      run_program({"likelihood", run(), "--data", source("full.csv"), "--bound", "ball", "--given", "sky"});
  EXPECT_EQ(wrong.exit_code, kBadInput);
}

// One row has two cells to score, the other three.
TEST_F(CliComplete, BitsPerVariableAreDividedByTheMeanCount) {
  write_text(folder_ / "two.csv", "sky,ground,wind\nsun,,no\nrain,wet,yes\n");
  const auto result = run_program({"likelihood", run(), "--data", source("two.csv") + "?missing=unknown"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out + result.err, "(divided by 2.5 variables)")) << result.out << result.err;
}

TEST_F(CliComplete, SaysWhatIsWrong) {
  const auto error = [&](const Arguments& more) {
    const auto result = run_program(Arguments{"complete", run()} + more);
    EXPECT_EQ(result.exit_code, kBadInput) << result.err;
    return result.err;
  };
  EXPECT_TRUE(contains(error({"--data", source("new.csv")}), "give --out FILE"));
  EXPECT_TRUE(
      contains(error({"--data", source("new.csv"), "--best", "--draws", "2", "--out", "-"}), "choose one of them"));
  EXPECT_TRUE(
      contains(error({"--data", source("new.csv"), "--best=rows", "--out", "-"}), "--best rows: expected cells, row"));
  EXPECT_TRUE(contains(error({"--data", source("new.csv"), "--out", file("x.png")}),
                       "tables are completed to CSV: use FILE.csv or -"));
  EXPECT_TRUE(contains(error({"--data", source("new.csv"), "--noise", "1.5", "--out", "-"}), "expected a probability"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.png"));
  // Commands that need complete items say so, with the place.
  const auto result =
      run_program({"evaluate", run(), "--data", source("t.csv") + "?missing=unknown", "--out", file("e")});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, "t.csv:5: sky is unknown, but complete items are needed here")) << result.err;
}

// Names and labels with commas, as %2C: the commands must do what they do if the whole is quoted.
TEST(CliCommasInNames, MayBeEscapedWhereverNamesAreListed) {
  const ScratchFolder folder;
  std::string text = "\"size, cm\",hue,\"weight, kg\"\n";
  for (int k = 0; k < 60; ++k)
    text += concat(k % 2 == 0 ? "\"1,5\"," : "2,", k % 3 == 0 ? "red," : "blue,", k % 5 == 0 ? "heavy\n" : "light\n");
  write_text(folder / "t.csv", text);
  const auto run = (folder / "run").string();
  const auto data = "csv:" + (folder / "t.csv").string();
  const auto trained = run_program(tiny_training(data, run, 20) + Arguments{"--set", "train.evidence=any"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto table_of = [&](const Arguments& command) {
    const auto out = folder / "out.csv";
    std::filesystem::remove(out);
    const auto result =
        run_program(Arguments{command[0], run, "--out", out.string()} + Arguments(command.begin() + 1, command.end()));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? read_text(out) : result.err;
  };
  const auto scores = [&](const std::string& only, const std::string& given) {
    return table_of({"likelihood", "--data", data, "--bound", "order", "--order", "left-to-right", "--items", "6",
                     "--only", only, "--given", given});
  };
  const auto quoted = scores("hue,\"weight, kg\"", "\"size, cm\"");
  EXPECT_EQ(scores("hue,weight%2C kg", "size%2C cm"), quoted);
  EXPECT_NE(scores("weight%2C kg", "size%2C cm"), quoted);
  const auto predicted = [&](const std::string& column) {
    return table_of({"predict", "--data", data, "--column", column});
  };
  EXPECT_TRUE(contains(predicted("weight%2C kg"), "\n2,light,")) << "row 2 is light";
  EXPECT_EQ(predicted("weight%2C kg"), predicted("weight, kg"));
  const auto drawn = table_of({"sample", "--count", "5", "--given", "size%2C cm=1%2C5,hue=red"});
  for (const CsvRow& row : read_csv(folder / "out.csv"))
    if (row.fields[0] != "size, cm") {
      EXPECT_EQ(row.fields[0] + "|" + row.fields[1], "1,5|red");
    }
  EXPECT_EQ(drawn, table_of({"sample", "--count", "5", "--given", "\"size, cm=1,5\",hue=red"}));
}

// Nothing else would tell that such holes are not filled.
TEST_F(CliComplete, TrainingThatLeavesHolesOutSaysSoOnce) {
  const std::string words = "note: missing cells are left out of this training instead of filled, by train.evidence = ";
  const auto notes = [&](const std::string& data, const Arguments& more) {
    std::filesystem::remove_all(folder_ / "other");
    const auto result = run_program(tiny_training(data, folder_ / "other", 2) + more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    int count = 0;
    for (auto at = result.err.find(words); at != std::string::npos; at = result.err.find(words, at + 1)) ++count;
    return count;
  };
  const Arguments uniform{"--set", "train.evidence=uniform"};
  EXPECT_EQ(notes(source("t.csv") + "?missing=unknown", uniform), 1);
  EXPECT_EQ(notes(source("t.csv") + "?missing=unknown", {"--set", "train.evidence=any"}), 0);
  EXPECT_EQ(notes(source("t.csv"), uniform), 0) << "there a hole is a label";
  EXPECT_EQ(notes(source("t.csv") + "?missing=unknown", uniform + Arguments{"--set", "net.kind=tree"}), 0)
      << "counting fills them";
}

// An older model, trained without evidence, works with a warning.
TEST_F(CliComplete, WarnsIfTheModelWasNeverToldLabels) {
  ASSERT_EQ(
      run_program(tiny_training(source("t.csv"), folder_ / "old", 20) + Arguments{"--set", "train.evidence=uniform"})
          .exit_code,
      0);
  const auto result = run_program({"complete", file("old"), "--data", source("new.csv"), "--out", file("out.csv")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "trained with train.evidence = \"uniform\"")) << result.err;
}

}  // namespace
}  // namespace segre::complete_test
