// Real-world tables: a newcomer's file, and a second one for the model trained on it.

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "segre/io/csv.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::table_test {
namespace {

using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

constexpr int kBadInput = 2;

// Passengers: an identifier, an age that may be missing, a fare, a date, and labels.
std::string passengers(int rows) {
  std::string text = "id,age,fare,booked,class\n";
  for (int k = 0; k < rows; ++k)
    text += concat("k", k, ",", k % 9 == 0 ? "" : std::to_string(k % 70), ",", 5 + k * 0.25, ",2020-0", 1 + k % 9, "-",
                   10 + k % 17, ",", k % 3 == 0 ? "first" : "second", "\n");
  return text;
}

class CliTable : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string csv(const std::string& name, const std::string& text) const {
    write_text(folder_ / name, text);
    return "csv:" + file(name);
  }
  void train() const {
    const auto source = csv("t.csv", passengers(300)) + "?bins=auto,age:4&without=id";
    const auto result = run_program(tiny_training(source, folder_ / "run", 2));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  test::ProgramResult sample(const std::string& out, const Arguments& more = {}) const {
    return run_program(Arguments{"sample", file("run"), "--count", "40", "--out", out, "--steps", "2"} + more);
  }
  test::ProgramResult score(const std::string& data) const {
    return run_program({"likelihood", file("run"), "--data", data, "--times", "4", "--out", file("scores.csv")});
  }

 private:
  ScratchFolder folder_;
};

TEST_F(CliTable, AnOrdinaryTableNeedsNoOptions) {
  const auto trained = run_program(tiny_training(csv("t.csv", passengers(300)), file("run"), 2));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(contains(trained.err, "left out: id (300 different values in 300 rows)\n")) << trained.err;
  EXPECT_TRUE(contains(trained.err, "a column of dates: booked (2020-01-")) << trained.err;
  ASSERT_EQ(sample(file("s.csv")).exit_code, 0);
  const auto rows = read_csv(file("s.csv"));
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"age", "fare", "booked", "class"}));
  for (size_t k = 1; k < rows.size(); ++k) {
    const auto& cells = rows[k].fields;
    EXPECT_EQ(cells[0].find_first_not_of("0123456789"), std::string::npos) << "whole numbers or nothing: " << cells[0];
    EXPECT_EQ(cells[2].substr(0, 6), "2020-0");
    const double fare = std::stod(cells[1]);
    EXPECT_TRUE(fare >= 5.0 && fare <= 79.75 && 4.0 * fare == std::round(4.0 * fare)) << "quarters: " << cells[1];
  }
  // A number between or outside those of training is scored like any other.
  const auto scored =
      score(csv("new.csv", "class,booked,age,fare\nfirst,2031-01-01,-,7.77\nsecond,2020-02-12,99,80\n"));
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  EXPECT_TRUE(contains(scored.err, "age = 99 (0 to 69, 30 above)")) << scored.err;
  EXPECT_EQ(read_csv(file("scores.csv")).size(), 3U);
}

TEST_F(CliTable, NumbersAreWhatIsRequested) {
  const auto kind = [&](const std::string& option) {
    const auto result = run_program({"data", "inspect", csv("t.csv", passengers(300)) + "?" + option, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    std::string uses;
    for (const auto& column : json.at("columns")) uses += column.at("use").get<std::string>() + " ";
    return uses;
  };
  EXPECT_EQ(kind("columns=age,fare,class"), "levels levels labels ");
  EXPECT_EQ(kind("columns=age,fare,class&numbers=labels"), "labels labels labels ");
  EXPECT_EQ(kind("columns=age,fare,class&numbers=bins"), "bins bins labels ");
  EXPECT_EQ(kind("columns=age,fare,class&numbers=fare:labels"), "levels labels labels ");
  EXPECT_EQ(kind("columns=age,fare,class&numbers=labels,age:levels"), "levels labels labels ");
  EXPECT_EQ(kind("columns=age,fare,class&bins=age:4"), "bins levels labels ");
  EXPECT_EQ(kind("columns=age,fare,class&bins=auto"), "levels bins labels ") << "ages are whole, and recur";
}

TEST_F(CliTable, AModelWithBinsScoresRawNumbersInAnyOrderAmongOtherColumns) {
  train();
  const auto result =
      score(csv("new.csv", "class,notes,booked,age,fare\nfirst,a,1999-12-31,7,1000\nsecond,b,2020-02-12,,9.5\n"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(
      contains(result.err, "note: " + file("new.csv") + ": ignoring column notes, which is not in the model\n"));
  EXPECT_EQ(read_csv(file("scores.csv")).size(), 3U);
  const auto lacking = score(csv("new.csv", "class,fare\nfirst,7\n"));
  EXPECT_EQ(lacking.exit_code, kBadInput);
  EXPECT_TRUE(contains(lacking.err, ": has no column age, booked; it has class, fare, and age, fare, booked, class "));
}

TEST_F(CliTable, UnseenLabelsAreSkippedWithACount) {
  train();
  const std::string text = "class,booked,age,fare\nthird,2020-02-12,7,9\nfirst,2020-02-12,7,9\n";
  EXPECT_EQ(score(csv("new.csv", text)).exit_code, kBadInput);
  const auto result = score(csv("new.csv", text) + "?unseen=skip");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, ": 1 of 2 rows have labels that training never saw and are left out"));
  EXPECT_EQ(read_csv(file("scores.csv")).size(), 2U);
}

TEST_F(CliTable, SamplesHaveBinsOrNumbersAndBothAreReadAgain) {
  train();
  ASSERT_EQ(sample(file("names.csv")).exit_code, 0);
  ASSERT_EQ(sample(file("numbers.csv"), {"--numbers"}).exit_code, 0);
  const auto names = read_csv(file("names.csv"));
  const auto numbers = read_csv(file("numbers.csv"));
  ASSERT_EQ(names.size(), 41U);
  ASSERT_EQ(numbers.size(), 41U);
  EXPECT_EQ(names[0].fields, numbers[0].fields);
  for (size_t k = 1; k < names.size(); ++k) {
    EXPECT_TRUE(names[k].fields[1].starts_with("[")) << names[k].fields[1];
    EXPECT_FALSE(numbers[k].fields[1].starts_with("["));
    EXPECT_EQ(numbers[k].fields[2].size(), 10U) << "a date: " << numbers[k].fields[2];
    EXPECT_EQ(names[k].fields[3], numbers[k].fields[3]);
  }
  ASSERT_EQ(score("csv:" + file("names.csv")).exit_code, 0);
  const auto of_names = read_csv(file("scores.csv"));
  const auto again = score("csv:" + file("numbers.csv"));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const auto of_numbers = read_csv(file("scores.csv"));
  for (size_t k = 1; k < of_names.size(); ++k)
    EXPECT_EQ(of_names[k].fields, of_numbers[k].fields) << "the numbers are in the bins that were drawn";
}

TEST_F(CliTable, ScoresHaveTheRowsOfTheFile) {
  train();
  const auto source = csv("new.csv",
                          "class,booked,age,fare\nthird,2020-02-12,7,9\nfirst,2020-02-12,7,9\nthird,2020-02-12,7,9\n"
                          "second,2020-02-12,1e9,9\n") +
                      "?unseen=skip";
  const auto result = run_program({"likelihood", file("run"), "--data", source, "--times", "4", "--out",
                                   file("scores.csv"), "--per-variable", file("cells.csv")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const auto& rows : {read_csv(file("scores.csv")), read_csv(file("cells.csv"))}) {
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].fields[0], "item");
    EXPECT_EQ(rows[1].fields[0], "1") << "counted from 0, with those left out";
    EXPECT_EQ(rows[2].fields[0], "3");
  }
  EXPECT_TRUE(contains(result.err, ": 1 value lies outside the range of training and counts as the nearest interval: " +
                                       file("new.csv") + ":5 age = 1e9 (0 to 69, 1e+09 above)"))
      << result.err;
}

TEST_F(CliTable, SamplesHaveTheMissingTokenOfTheFile) {
  std::string text = "sky,wind,one\n";
  for (int k = 0; k < 60; ++k)
    text += concat(k % 2 == 0 ? "NA" : "sun", ",", k % 3 == 0 ? "" : "yes", ",", k % 2 == 0 ? "?" : "a", "\n");
  ASSERT_EQ(run_program(tiny_training(csv("t.csv", text), file("run"), 2)).exit_code, 0);
  ASSERT_EQ(sample(file("s.csv")).exit_code, 0);
  std::set<std::string> found;
  const auto rows = read_csv(file("s.csv"));
  for (size_t k = 1; k < rows.size(); ++k)
    for (size_t i = 0; i < 3; ++i) found.insert(concat(i, ":", rows[k].fields[i]));
  EXPECT_EQ(found, (std::set<std::string>{"0:NA", "0:sun", "1:", "1:yes", "2:?", "2:a"}));
  // Read back they are the same labels: the table's labels do not change.
  const auto again = score("csv:" + file("s.csv"));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_FALSE(contains(again.err, "unknown")) << again.err;
}

TEST_F(CliTable, NumbersDependOnTheSeedAndTheSampleAlone) {
  train();
  ASSERT_EQ(sample(file("a.csv"), {"--numbers"}).exit_code, 0);
  ASSERT_EQ(run_program({"sample", file("run"), "--count", "7", "--out", file("b.csv"), "--steps", "2", "--numbers"})
                .exit_code,
            0);
  const auto many = read_csv(file("a.csv"));
  const auto few = read_csv(file("b.csv"));
  for (size_t k = 0; k < few.size(); ++k) EXPECT_EQ(few[k].fields, many[k].fields);
}

TEST_F(CliTable, NumbersNeedBinsAndATable) {
  train();
  EXPECT_EQ(sample(file("a.npy"), {"--numbers"}).err,
            "segre: --numbers: only .csv files can hold numbers; --out is " + file("a.npy") + "\n");
  ASSERT_EQ(run_program(tiny_training(csv("u.csv", "a,b\nx,y\nz,w\n"), file("plain"), 1)).exit_code, 0);
  const auto result = run_program({"sample", file("plain"), "--count", "2", "--out", "-", "--numbers"});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(contains(result.err, "has no bins to draw numbers from"));
}

}  // namespace
}  // namespace segre::table_test
