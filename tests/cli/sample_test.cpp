// segre sample, driven as users drive it.

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::contains;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;

// A run of a joint distribution with named labels, in a folder of its own.
class CliSample : public testing::Test {
 protected:
  void SetUp() override {
    write_text(table(), "sky,\"ground, below\",p\nsun,dry,0.5\nrain,wet,0.375\nrain,dry,0.125\n");
    const auto result = run_program(tiny_training("joint:" + table().string(), run(), 3));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  fs::path table() const { return folder_ / "j.csv"; }
  fs::path run() const { return folder_ / "run"; }
  fs::path file(const std::string& name) const { return folder_ / name; }

  test::ProgramResult sample(int count, const std::string& out, const Arguments& more = {}) const {
    return run_program(Arguments{"sample", run().string(), "--count", std::to_string(count), "--out", out} + more);
  }
  // The message of a wrong call, without "segre: " and line end.
  std::string sample_error(const std::string& out, const Arguments& more = {}) const {
    const auto result = sample(5, out, more);
    EXPECT_EQ(result.exit_code, kBadInput);
    EXPECT_EQ(result.out, "");
    std::string message = test::after("segre: ", result.err);
    EXPECT_EQ(message.find('\n'), message.size() - 1) << "one line";
    message.pop_back();
    return message;
  }

 private:
  ScratchFolder folder_;
};

TEST_F(CliSample, CsvHasTheTablesHeaderAndLabels) {
  const auto result = sample(50, file("s.csv").string());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const auto rows = read_csv(file("s.csv"));
  ASSERT_EQ(rows.size(), 51U);
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"sky", "ground, below"}));
  for (size_t k = 1; k < rows.size(); ++k) {
    EXPECT_TRUE(rows[k].fields[0] == "sun" || rows[k].fields[0] == "rain") << rows[k].fields[0];
    EXPECT_TRUE(rows[k].fields[1] == "dry" || rows[k].fields[1] == "wet") << rows[k].fields[1];
  }
}

TEST_F(CliSample, ADashPutsOnlyDataOnStdoutAndTalkOnStderr) {
  const auto result = sample(20, "-");
  EXPECT_EQ(result.exit_code, 0);
  write_text(file("s.csv"), result.out);
  EXPECT_EQ(read_csv(file("s.csv")).size(), 21U);
  EXPECT_TRUE(result.out.starts_with("sky,\"ground, below\"\n")) << result.out;
  EXPECT_TRUE(contains(result.err, "20 samples in "));
  EXPECT_TRUE(contains(result.err, "total variation to joint:"));
}

TEST_F(CliSample, NpyHasAByteForEachLabel) {
  EXPECT_EQ(sample(1000, file("s.npy").string()).exit_code, 0);
  const auto bytes = read_file(file("s.npy"));
  constexpr size_t kHeader = 128;  // the dictionary needs more than 64 bytes
  ASSERT_EQ(bytes.size(), kHeader + 1000 * 2);
  EXPECT_TRUE(bytes.starts_with("\x93NUMPY"));
  EXPECT_TRUE(contains(bytes.substr(0, kHeader), "'shape': (1000, 2,)"));
  for (size_t k = kHeader; k < bytes.size(); ++k) EXPECT_LT(bytes[k], 2);
}

TEST_F(CliSample, TheSeedDecidesAndMoreSamplesBeginWithTheFewer) {
  const auto twenty = sample(20, "-", {"--seed", "5"}).out;
  EXPECT_EQ(sample(20, "-", {"--seed", "5"}).out, twenty);
  EXPECT_TRUE(sample(10'000, "-", {"--seed", "5"}).out.starts_with(twenty));
  EXPECT_NE(sample(20, "-", {"--seed", "6"}).out, twenty);
}

TEST_F(CliSample, StepsAndSamplerAreTaken) {
  EXPECT_TRUE(contains(sample(5, "-", {"--steps", "3", "--sampler", "midpoint"}).err,
                       ", 6 evaluations each (midpoint to t = "));
  EXPECT_TRUE(contains(sample(5, "-", {"--set", "sample.stop=end", "--set", "sample.steps=4"}).err,
                       ", 13 evaluations each (rk4 to t = 1), "));
}

TEST_F(CliSample, EverySamplerSaysItsEvaluations) {
  const std::pair<const char*, const char*> said[] = {{"ab2", ", 7 evaluations each (ab2 to t = "},
                                                      {"multistep", ", 6 evaluations each (multistep to t = "},
                                                      {"sde", ", 6 evaluations each (sde to t = "},
                                                      {"heun", ", 12 evaluations each (heun to t = "}};
  for (const auto& [name, text] : said)
    EXPECT_TRUE(contains(sample(5, "-", {"--steps", "6", "--sampler", name}).err, text));
}

TEST_F(CliSample, TheAdaptiveSamplerTakesATolerance) {
  const auto evaluations = [&](const char* tolerance) {
    const auto result = sample(50, "-", {"--sampler", "dopri5", "--tolerance", tolerance});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const size_t end = result.err.find(" evaluations each (dopri5 to t = ");
    EXPECT_NE(end, std::string::npos) << result.err;
    const size_t begin = result.err.rfind(' ', end - 1) + 1;
    const std::string number = result.err.substr(begin, end - begin);
    EXPECT_EQ(number.find('.'), number.size() - 2) << "a mean over samples, with one digit: " << number;
    return std::stod(number);
  };
  EXPECT_LT(evaluations("0.01"), evaluations("1e-5"));
  EXPECT_EQ(sample_error("-", {"--tolerance", "0"}),
            "--tolerance: sample.tolerance = 0: expected a number from 1e-08 to 1");
}

TEST_F(CliSample, TimeAndReadoutAreTaken) {
  EXPECT_TRUE(contains(sample(5, "-", {"--t1", "0.25"}).err, " (rk4 to t = 0.25), "));
  const auto argmax = sample(200, "-", {"--t1", "0.25"}).out;
  EXPECT_EQ(sample(200, "-", {"--t1", "0.25", "--readout", "argmax"}).out, argmax);
  EXPECT_NE(sample(200, "-", {"--t1", "0.25", "--readout", "matched"}).out, argmax);
  EXPECT_NE(sample(200, "-", {"--t1", "0.25", "--readout", "segre"}).out, argmax);
  EXPECT_TRUE(contains(sample_error("-", {"--readout", "best"}), "--readout"));
}

TEST_F(CliSample, AnUnknownSamplerListsTheSamplers) {
  EXPECT_EQ(sample_error("-", {"--sampler", "rk5"}),
            "sampler 'rk5' is not one of euler, midpoint, heun, rk4, ab2, multistep, dopri5, sde");
}

TEST_F(CliSample, AnotherExtensionIsRefused) {
  for (const char* name : {"s.txt", "s.jpeg"})
    EXPECT_EQ(sample_error(name), concat("--out ", name,
                                         ": expected a file that ends in .csv, .npy or .png, a folder for label maps, "
                                         "or - for CSV on standard output"));
}

TEST_F(CliSample, PicturesOfATableAreRefusedWithTheReason) {
  EXPECT_EQ(sample_error("s.png"),
            "--out s.png: pictures are drawn of images, this model is a table of 2 variables with "
            "2 labels each; use .csv or .npy");
}

TEST_F(CliSample, ATimeBeyondThePathIsRefused) {
  EXPECT_EQ(sample_error("-", {"--set", "sample.t1=2"}), "sample.t1 = 2: the path ends at 1");
}

TEST_F(CliSample, AFolderThatIsNotThereIsNamed) {
  const auto out = file("none") / "s.csv";
  const auto result = sample(5, out.string());
  EXPECT_EQ(result.exit_code, kRunFailed);
  EXPECT_EQ(result.err, concat("segre: ", out.string(), ": cannot be written (No such file or directory)\n"));
}

TEST_F(CliSample, WorksWhenTheTrainingTableIsGone) {
  fs::remove(table());
  const auto result = sample(5, "-");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("sky,")) << result.out;
  EXPECT_EQ(result.err.find("total variation"), std::string::npos) << "nothing to compare with";
}

TEST_F(CliSample, WorksWhenTheTrainingTableHasAnotherShapeNow) {
  write_text(table(), "a,b,c,p\n0,0,1,0.5\n1,1,0,0.5\n");
  const auto result = sample(5, "-");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.find("total variation"), std::string::npos) << "nothing to compare with";
}

TEST_F(CliSample, AFullDiskBehindStdoutIsAFailure) {
  const auto result = run_program({"sample", run().string(), "--count", "5", "--out", "-"}, "/dev/full");
  EXPECT_EQ(result.exit_code, kRunFailed);
}

TEST(CliSampleUsage, ADirectoryThatIsNoRunIsRefused) {
  const ScratchFolder folder;
  const auto result = run_program({"sample", folder.path().string(), "--count", "5", "--out", "-"});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, folder.path().string() + ": is not a trained run (no checkpoint in it); "));
}

}  // namespace
}  // namespace segre
