// segre likelihood and segre convergence, run as users run them.

#include <cmath>

#include "segre/io/csv.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::likelihood_test {
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

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int k = 0; k < times; ++k) out += text;
  return out;
}

// The number that follows the given words.
double number_after(const std::string& words, const std::string& text) {
  const size_t at = text.find(words);
  return at == std::string::npos ? NAN : std::stod(text.substr(at + words.size()));
}

class CliLikelihood : public testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "j.csv", "sky,ground,p\nsun,dry,0.5\nrain,wet,0.375\nrain,dry,0.125\n");
    const auto result = run_program(tiny_training("joint:" + (folder_ / "j.csv").string(), folder_ / "run", 3));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  test::ProgramResult score(const Arguments& more) const {
    return run_program(Arguments{"likelihood", (folder_ / "run").string(), "--out", (folder_ / "out.csv").string()} +
                       more);
  }
  std::string error(const Arguments& more) const {
    const auto result = score(more);
    EXPECT_EQ(result.exit_code, kBadInput);
    EXPECT_FALSE(fs::exists(folder_ / "out.csv"));
    return test::after("segre: ", result.err);
  }
  std::vector<CsvRow> table() const { return read_csv(folder_ / "out.csv"); }
  ScratchFolder folder_;
};

TEST_F(CliLikelihood, ScoresItemsWhoseTableNumbersLabelsOtherwise) {
  // The file has no 'sun', so its numbering differs; the model matches labels by name.
  write_text(folder_ / "items.csv", "sky,ground\nrain,wet\nrain,dry\n");
  const auto result = score({"--data", "csv:" + (folder_ / "items.csv").string(), "--times", "64"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = table();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"item", "log_p", "std_error"}));
  EXPECT_LT(std::stod(rows[1].fields[1]), 0.0);
  EXPECT_TRUE(contains(result.err, "a lower bound on log p"));
  EXPECT_TRUE(contains(result.err, "bits per variable (divided by 2 variables)"));
  write_text(folder_ / "other.csv", "sky,ground\nhail,wet\nrain,dry\n");
  EXPECT_EQ(score({"--data", "csv:" + (folder_ / "other.csv").string()}).err,
            "segre: " + (folder_ / "other.csv").string() +
                ":2: column sky has the label 'hail', which training never saw; it has rain, sun (if it can occur, "
                "train with it declared: labels= or dictionary= of csv:, a row with p = 0 of joint:); unseen=skip "
                "leaves such "
                "rows out\n");
}

TEST_F(CliLikelihood, WithoutAFileTheAveragesAreTheResult) {
  const auto result = run_program({"likelihood", (folder_ / "run").string(), "--data",
                                   "joint:" + (folder_ / "j.csv").string(), "--items", "200", "--times", "64"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "-log p per item at most "));
  EXPECT_TRUE(contains(result.out, "in expectation a lower bound on log p of the stochastic sampler (sde)"));
  EXPECT_TRUE(contains(result.out, "200 items were drawn (3 distinct)"));
}

TEST_F(CliLikelihood, EqualItemsAreScoredOnceAndShareTheirError) {
  write_text(folder_ / "many.csv", "sky,ground\n" + repeated("rain,wet\n", 500) + repeated("rain,dry\n", 500));
  write_text(folder_ / "few.csv", "sky,ground\nrain,wet\nrain,dry\n");
  const auto averages = [&](const std::string& file) {
    const auto result = score({"--data", "csv:" + (folder_ / file).string(), "--times", "64"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return number_after("standard error of estimation ", result.err);
  };
  const double of_many = averages("many.csv");
  EXPECT_EQ(table().size(), 1001U);
  EXPECT_EQ(of_many, averages("few.csv")) << "a thousand equal items know no more than two";
}

TEST_F(CliLikelihood, SpendsUntilTheErrorIsReached) {
  const Arguments data{"--data", "joint:" + (folder_ / "j.csv").string(), "--items", "100"};
  const auto coarse = score(data + Arguments{"--error", "0.2"});
  const auto fine = score(data + Arguments{"--error", "0.003"});
  ASSERT_EQ(fine.exit_code, 0) << fine.err;
  EXPECT_LE(number_after("standard error of estimation ", coarse.err), 0.2);
  EXPECT_LE(number_after("standard error of estimation ", fine.err), 0.003);
  EXPECT_GT(number_after("bound, ", fine.err), number_after("bound, ", coarse.err)) << "evaluations";
  const auto capped = score(data + Arguments{"--error", "0.0001", "--times", "128"});
  EXPECT_TRUE(contains(capped.err, "simulation-free bound, 128 evaluations per item")) << capped.err;
  EXPECT_TRUE(contains(capped.err, "the target was 0.0001"));
  const auto share = score(data + Arguments{"--error", "5%"});
  EXPECT_LE(number_after("standard error of estimation ", share.err), 0.05 * number_after("at most ", share.err));
}

TEST_F(CliLikelihood, EnumeratesTheTableBesideTheSamples) {
  for (const std::string bound : {"free", "path", "direct"}) {
    const auto result = score({"--enumerate", "--bound", bound, "--samples", "20000"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto rows = table();
    ASSERT_EQ(rows.size(), 5U) << bound;
    EXPECT_EQ(rows[0].fields[2], "log_p");
    EXPECT_EQ(rows[0].fields[4], "frequency");
    double frequency = 0.0;
    double p = 0.0;
    for (size_t k = 1; k < rows.size(); ++k) {
      p += std::exp(std::stod(rows[k].fields[2]));
      frequency += std::stod(rows[k].fields[4]);
      if (bound != "path") continue;
      // Samples follow the flow's own likelihood, up to five standard deviations of a frequency.
      EXPECT_NEAR(std::exp(std::stod(rows[k].fields[2])), std::stod(rows[k].fields[4]), 0.02);
    }
    EXPECT_NEAR(frequency, 1.0, 1e-9);
    EXPECT_LT(p, bound == "free" ? 1.1 : 1.01) << bound;
    EXPECT_EQ(contains(result.err, "not a bound"), bound == "direct");
    fs::remove(folder_ / "out.csv");
  }
}

TEST_F(CliLikelihood, SaysWhatIsWrong) {
  EXPECT_TRUE(contains(error({}), "--enumerate"));
  EXPECT_TRUE(
      contains(error({"--enumerate", "--bound", "best"}), "--bound best: expected free, path, ball, direct, order"));
  EXPECT_TRUE(contains(error({"--enumerate", "--bound", "path", "--trace", "hutchinson", "--average", "log-mean-exp"}),
                       "not a bound"));
  EXPECT_TRUE(contains(error({"--enumerate", "--times", "6"}), "multiple of 4"));
  EXPECT_TRUE(contains(error({"--enumerate", "--t1", "1"}), "path's end"));
  EXPECT_TRUE(contains(error({"--data", "glyphs", "--items", "2"}), "--data glyphs"));
  EXPECT_TRUE(contains(error({"--data", "coupled"}), "is endless"));
  EXPECT_TRUE(contains(error({"--enumerate", "--error", "-1"}), "--error -1: expected nats above 0"));
  EXPECT_TRUE(contains(error({"--enumerate", "--error", "nan"}), "--error nan"));
}

TEST_F(CliLikelihood, ConvergenceWritesItsCurve) {
  const auto out = folder_ / "c";
  const auto result =
      run_program({"convergence", (folder_ / "run").string(), "--data", "joint:" + (folder_ / "j.csv").string(),
                   "--items", "3", "--draws", "20", "--out", out.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = read_csv(out / "convergence.csv");
  EXPECT_EQ(rows[0].fields[0], "draws");
  EXPECT_EQ(rows.back().fields[0], "10");
  EXPECT_TRUE(fs::exists(out / "convergence.html"));
  write_text(folder_ / "items.csv", "sky,ground\nrain,wet\nrain,dry\n");
  const auto all =
      run_program({"convergence", (folder_ / "run").string(), "--data", "csv:" + (folder_ / "items.csv").string(),
                   "--items", "0", "--draws", "4", "--out", out.string()});
  EXPECT_TRUE(contains(all.err, " 2 items of csv:")) << all.err;
}

}  // namespace
}  // namespace segre::likelihood_test
