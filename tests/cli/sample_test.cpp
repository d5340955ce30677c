// segre sample, run as users run it.

#include <sys/inotify.h>
#include <unistd.h>

#include <cmath>

#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/io/png.h"
#include "segre/path/e_geodesic.h"
#include "segre/runs/run_directory.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::sample_test {
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

// A run trained on a joint distribution with named labels, in its own folder.
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
  // The message of a bad call, without "segre: " and the newline.
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

TEST_F(CliSample, AFolderHasATablesRowsInPartsAndAnIndex) {
  constexpr int kCount = 70'000;  // more than one part
  const auto folder = file("parts");
  ASSERT_EQ(sample(kCount, folder.string(), {"--steps", "2"}).exit_code, 0);
  const auto index = read_csv(folder / "index.csv");
  ASSERT_GT(index.size(), 2U);
  EXPECT_EQ(index[0].fields, (std::vector<std::string>{"file", "first", "count"}));
  std::string joined;
  int64_t next = 0;
  for (size_t k = 1; k < index.size(); ++k) {
    const auto& fields = index[k].fields;
    EXPECT_EQ(fields[1], std::to_string(next));
    next += std::stoll(fields[2]);
    const auto part = read_file(folder / fields[0]);
    joined += k == 1 ? part : part.substr(part.find('\n') + 1);
  }
  EXPECT_EQ(next, kCount);
  EXPECT_TRUE(joined == sample(kCount, "-", {"--steps", "2"}).out) << "the parts are not those of one file";
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

TEST_F(CliSample, OptionsThatTheSamplerDoesNotUseAreRefused) {
  EXPECT_EQ(sample_error("-", {"--sampler", "dopri5", "--steps", "3"}), "--steps is not used with --sampler dopri5");
  EXPECT_EQ(sample_error("-", {"--tolerance", "0.01"}), "--tolerance is not used with --sampler rk4");
  EXPECT_EQ(sample_error("-", {"--set", "sample.sampler=dopri5", "--steps", "3"}),
            "--steps is not used with --sampler dopri5");
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
            "sampler 'rk5' is not one of euler, midpoint, heun, rk4, ab2, multistep, early, dopri5, sde, erasure");
}

TEST_F(CliSample, AnotherExtensionIsRefused) {
  for (const char* name : {"s.txt", "s.jpeg"})
    EXPECT_EQ(sample_error(name), concat("--out ", name,
                                         ": expected a file that ends in .csv, .npy or .png, a folder for label maps, "
                                         "or - for CSV on standard output"));
}

TEST_F(CliSample, APictureOfTwoVariablesIsTheirHistogram) {
  const auto result = sample(5000, file("s.png").string());  // more than images fit into one picture
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(read_png(file("s.png")).width, 400);
}

TEST_F(CliSample, PicturesOfMoreVariablesAreRefusedWithTheReason) {
  write_text(file("three.csv"), "a,b,c\nx,y,z\nu,v,w\n");
  ASSERT_EQ(run_program(tiny_training("csv:" + file("three.csv").string(), file("three"), 2)).exit_code, 0);
  const auto result = run_program({"sample", file("three").string(), "--count", "5", "--out", "s.png"});
  EXPECT_EQ(result.err,
            "segre: --out s.png: pictures need images, or two variables of at most 2048 labels; this model is a table "
            "of 3 variables with 2 labels each; use .csv or .npy\n");
}

TEST_F(CliSample, ATimeBeyondThePathIsRefused) {
  EXPECT_EQ(sample_error("-", {"--set", "sample.t1=2"}), "sample.t1 = 2: the path ends at 1");
}

TEST_F(CliSample, AFolderThatIsNotThereIsNamed) {
  const auto out = file("none") / "s.csv";
  EXPECT_EQ(sample_error(out.string()),
            concat("--out ", out.string(), ": cannot be written (No such file or directory)"));
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

TEST_F(CliSample, ATableThatChangedSinceIsNotComparedWith) {
  write_text(table(), "sky,\"ground, below\",p\nsun,dry,0.25\nrain,wet,0.5\nrain,dry,0.25\n");
  const auto result = sample(5, "-");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.find("total variation"), std::string::npos) << "the model never saw it";
}

// While alive, counts how often a file is opened.
class OpenWatch {
 public:
  explicit OpenWatch(const fs::path& file) : fd_(::inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(::inotify_add_watch(fd_, file.c_str(), IN_OPEN), 0);
  }
  ~OpenWatch() { ::close(fd_); }
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;
  bool opened() const {
    alignas(inotify_event) char buffer[4096];
    return ::read(fd_, buffer, sizeof buffer) > 0;
  }

 private:
  int fd_;
};

TEST_F(CliSample, OpensASmallJointTable) {
  const OpenWatch watch(table());
  EXPECT_EQ(sample(5, "-").exit_code, 0);
  EXPECT_TRUE(watch.opened());
}

TEST_F(CliSample, OpensNoLargeJointTable) {
  std::string text = read_file(table());
  text += std::string((1 << 20) - text.size() + 1, '\n');
  write_text(table(), text);
  const OpenWatch watch(table());
  const auto result = sample(5, "-");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(watch.opened());
  EXPECT_EQ(result.err.find("total variation"), std::string::npos);
}

TEST(CliSampleData, OpensNoTrainingItems) {
  const ScratchFolder folder;
  const auto data = folder / "t.csv";
  write_text(data, "a,b\n0,0\n1,1\n0,1\n");
  const auto run = (folder / "run").string();
  ASSERT_EQ(run_program(tiny_training("csv:" + data.string(), run, 2)).exit_code, 0);
  const OpenWatch watch(data);
  const Arguments sample{"sample", run, "--count", "5", "--out", "-"};
  const auto with_data = run_program(sample);
  EXPECT_EQ(with_data.exit_code, 0) << with_data.err;
  EXPECT_FALSE(watch.opened());
  fs::remove(data);
  EXPECT_EQ(run_program(sample).out, with_data.out);
}

TEST_F(CliSample, AConfigThatWasRewrittenSinceChangesNothing) {
  const auto before = sample(50, "-").out;
  Experiment e;
  schema_of(e).read_file(run() / "config.toml");
  e.path.of<EGeodesicOptions>().eps = 0.4;
  e.seed = 8;
  e.sample.steps = 1;
  RunDirectory(run()).write_config(e);
  EXPECT_EQ(sample(50, "-").out, before);
  fs::remove(run() / "config.toml");
  EXPECT_EQ(sample(50, "-").out, before);
}

TEST_F(CliSample, WeightsThatAreNotFiniteAreBadInput) {
  const auto file = *RunDirectory(run()).latest() / "model.safetensors";
  auto tensors = read_safetensors(file);
  tensors.at("ema.layer0.bias")[0] = std::nan("");
  write_safetensors(file, tensors);
  EXPECT_EQ(sample_error("-"), file.string() + ": the checkpoint's tensor ema.layer0.bias contains non-finite values");
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
  EXPECT_TRUE(contains(result.err, folder.path().string() + ": is not a trained run (no checkpoint found); "));
}

}  // namespace
}  // namespace segre::sample_test
