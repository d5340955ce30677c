// Every result as JSON: one value on standard output, the numbers of the files, and notes inside it.

#include <nlohmann/json.hpp>

#include "segre/io/csv.h"
#include "segre/tasks/to_json.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::json_test {
namespace {

using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::operator+;

// A table of two dependent columns and a number, and a second file with a column that the model does not have.
class CliJson : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    std::string text = "sky,ground,heat\n";
    for (int k = 0; k < 200; ++k) text += concat(k % 3 == 0 ? "rain,wet," : "sun,dry,", k % 50, "\n");
    test::write_text(*folder_ / "t.csv", text);
    test::write_text(*folder_ / "new.csv", "visit,sky,ground,heat\n7,sun,,3.5\n8,,wet,\n9,rain,dry,40\n");
    const auto result = run_program(tiny_training("csv:" + file("t.csv") + "?bins=heat:4", file("run"), 30) +
                                    Arguments{"--set", "train.evidence=any"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string file(const std::string& name) { return (*folder_ / name).string(); }
  static std::string csv(const std::string& name) { return "csv:" + file(name); }
  // What a command prints with --json, read, and nothing else.
  static Json json_of(const std::string& command, const Arguments& arguments) {
    const auto result = run_program(Arguments{command, file("run"), "--json"} + arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_FALSE(contains(result.err, "note:")) << result.err;
    auto json = Json::parse(result.out);
    EXPECT_EQ(text_of(json), result.out);
    return json;
  }
  static std::vector<CsvRow> csv_of(const std::string& command, const Arguments& arguments) {
    const auto result = run_program(Arguments{command, file("run"), "--out", file("out.csv")} + arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_csv(file("out.csv"));
  }
  static void expect_number(const Json& number, const std::string& text) {
    const double expected = std::stod(text);
    EXPECT_NEAR(number.get<double>(), expected, 2e-5 * std::abs(expected));
  }

 private:
  static inline std::unique_ptr<ScratchFolder> folder_;
};

TEST_F(CliJson, Samples) {
  const auto json = json_of("sample", {"--count", "9", "--numbers"});
  const auto rows = csv_of("sample", {"--count", "9", "--numbers"});
  ASSERT_EQ(json["samples"].size(), 9U);
  for (size_t k = 0; k < 9; ++k) {
    EXPECT_EQ(json["samples"][k]["sky"], rows[k + 1].fields[0]);
    expect_number(json["samples"][k]["heat"], rows[k + 1].fields[2]);
  }
  EXPECT_EQ(json["count"], 9);
}

TEST_F(CliJson, Completions) {
  const Arguments data{"--data", csv("new.csv"), "--draws", "2"};
  const auto json = json_of("complete", data);
  const auto rows = csv_of("complete", data);
  ASSERT_EQ(json["rows"].size(), 3U);
  for (size_t k = 0; k < 3; ++k)
    for (size_t draw = 0; draw < 2; ++draw) {
      const auto& completed = json["rows"][k]["completions"][draw];
      const auto& fields = rows[1 + 2 * k + draw].fields;
      EXPECT_EQ(completed["sky"], fields[2]);
      EXPECT_EQ(completed["ground"], fields[3]);
      expect_number(completed["heat"], fields[4]);
    }
  EXPECT_EQ(json["rows"][0]["completions"][0]["heat"], 3.5);
  EXPECT_EQ(json["rows"][1]["row"], 2);
  EXPECT_EQ(json["rows"][2]["probabilities"], Json::object());
  EXPECT_EQ(json["notes"], Json::array({file("new.csv") + ": ignoring column visit, which is not in the model"}));
}

TEST_F(CliJson, Predictions) {
  const Arguments data{"--data", csv("new.csv"), "--column", "ground"};
  const auto json = json_of("predict", data);
  const auto rows = csv_of("predict", data);
  ASSERT_EQ(json["rows"].size(), 3U);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(json["rows"][k]["label"], rows[k + 1].fields[1]);
    expect_number(json["rows"][k]["probability"], rows[k + 1].fields[2]);
    EXPECT_EQ(json["rows"][k]["truth"].is_null(), rows[k + 1].fields[3].empty());
  }
  EXPECT_EQ(json["quality"]["rows"], 2);
  EXPECT_EQ(json["notes"].size(), 1U);
}

TEST_F(CliJson, Likelihoods) {
  const Arguments data{"--data", csv("t.csv"), "--items", "5", "--times", "16"};
  const auto json = json_of("likelihood", data + Arguments{"--per-variable", file("cells.csv")});
  const auto rows = csv_of("likelihood", data);
  const auto cells = read_csv(file("cells.csv"));
  ASSERT_EQ(json["items"].size(), 5U);
  for (size_t k = 0; k < 5; ++k) {
    expect_number(json["items"][k]["log_p"], rows[k + 1].fields[1]);
    expect_number(json["items"][k]["std_error"], rows[k + 1].fields[2]);
    expect_number(json["items"][k]["nats"]["ground"], cells[k + 1].fields[2]);
  }
  EXPECT_EQ(json["spent"], 16);
  const auto space = json_of("likelihood", {"--enumerate", "--samples", "100", "--times", "8"});
  EXPECT_EQ(space["labelings"].size(), 16U);
  EXPECT_EQ(space["labelings"][0]["row"].size(), 3U);
}

TEST_F(CliJson, OddRows) {
  const Arguments full{"--data", csv("t.csv"), "--items", "6", "--calibration", "20", "--times", "64"};
  const auto json = json_of("outliers", full);
  const auto rows = csv_of("outliers", full);
  ASSERT_EQ(json["rows"].size(), 6U);
  for (size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(json["rows"][k]["item"].dump(), rows[k + 1].fields[1]);
    expect_number(json["rows"][k]["score"], rows[k + 1].fields[3]);
    EXPECT_EQ(json["rows"][k]["column"], rows[k + 1].fields[6]);
  }
}

TEST_F(CliJson, EvaluationsAndDetection) {
  const auto evaluation = json_of("evaluate", {"--data", csv("t.csv"), "--count", "50", "--items", "50"});
  EXPECT_GT(evaluation["metrics"].size(), 2U);
  const auto ood = json_of("ood", {"--inside", csv("t.csv"), "--outside", csv("t.csv"), "--items", "12",
                                   "--calibration", "12", "--times", "4", "--out", file("ood")});
  EXPECT_EQ(ood["inside"]["items"].size(), 12U);
  EXPECT_EQ(read_csv(file("ood") + "/auroc.csv").size(), ood["scores"].size() + 1);
}

TEST_F(CliJson, TakesThePlaceOfAFile) {
  for (const auto& arguments : {Arguments{"sample", file("run"), "--count", "2"},
                                Arguments{"predict", file("run"), "--data", csv("t.csv"), "--column", "sky"}}) {
    const auto neither = run_program(arguments);
    EXPECT_EQ(neither.exit_code, 2);
    EXPECT_EQ(neither.err, "segre: --out is required; see 'segre --help'\n");
    const auto both = run_program(arguments + Arguments{"--json", "--out", file("s.csv")});
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_EQ(both.err, "segre: --out and --json: give one of them\n");
  }
  const auto twice = run_program({"likelihood", file("run"), "--data", csv("t.csv"), "--json", "--out", "-"});
  EXPECT_EQ(twice.err, "segre: --out -: --json prints the result there; give a file\n");
}

}  // namespace
}  // namespace segre::json_test
