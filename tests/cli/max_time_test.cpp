// --max-time: what is not done by then leaves nothing behind; what is refined has larger errors.

#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::max_time_test {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::contains;
using test::run_program;
using test::operator+;

class CliMaxTime : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::ScratchFolder>();
    std::string text = "sky,ground,wind\n";
    for (int k = 0; k < 60; ++k)
      text += std::string(k % 2 == 0 ? "sun,dry," : "rain,wet,") + (k % 5 < 2 ? "yes\n" : "no\n");
    test::write_text(*folder_ / "t.csv", text);
    ASSERT_EQ(run_program(test::tiny_training(table(), *folder_ / "run", 20)).exit_code, 0);
    ASSERT_EQ(run_program(test::tiny_training("coupled", *folder_ / "coupled", 20)).exit_code, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string table() { return "csv:" + (*folder_ / "t.csv").string(); }
  static std::string out(const std::string& name) { return (*folder_ / name).string(); }
  static std::string run() { return out("run"); }

  static inline std::unique_ptr<test::ScratchFolder> folder_;
};

TEST_F(CliMaxTime, EveryLongCommandEndsAndWritesNothing) {
  const Arguments commands[] = {
      {"sample", run(), "--count", "1000", "--out", out("o.csv")},
      {"sample", run(), "--count", "1000", "--out", out("folder")},
      {"complete", run(), "--data", table(), "--given", "sky", "--out", out("o.csv"), "--probabilities", out("p.csv")},
      {"predict", run(), "--data", table(), "--column", "sky", "--out", out("o.csv")},
      {"likelihood", run(), "--data", table(), "--out", out("o.csv")},
      {"likelihood", out("coupled"), "--enumerate", "--out", out("o.csv")},
      {"ood", run(), "--inside", table(), "--outside", table(), "--out", out("folder")},
      {"outliers", run(), "--data", table(), "--out", out("o.csv")},
      {"evaluate", run(), "--data", table(), "--out", out("folder")},
      {"samplers", run(), "--out", out("folder")},
      {"convergence", run(), "--data", table(), "--out", out("folder")},
      {"conditionals", out("coupled"), "--out", out("o.csv")},
      {"oracle", "--labels", "2,2,3"},
  };
  for (const Arguments& command : commands) {
    const auto result = run_program(command + Arguments{"--max-time", "0.0001s"});
    EXPECT_EQ(result.exit_code, 1) << command[0] << ": " << result.err;
    EXPECT_TRUE(result.err.ends_with("segre: --max-time 0.0001s: not done by then; no file was written\n"))
        << command[0] << ": " << result.err;
    for (const char* name : {"o.csv", "p.csv", "folder"})
      EXPECT_FALSE(fs::exists(*folder_ / name)) << command[0] << " left " << name;
  }
}

TEST_F(CliMaxTime, AnEndlessSamplingEnds) {
  const auto result =
      run_program({"sample", run(), "--count", "1000000000000", "--out", out("o.csv"), "--max-time", "1s"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.err.ends_with("segre: --max-time 1s: not done by then; no file was written\n")) << result.err;
  EXPECT_FALSE(fs::exists(*folder_ / "o.csv"));
}

TEST_F(CliMaxTime, ScoresAreWhatTheTimeAllowed) {
  const auto result = run_program({"likelihood", run(), "--data", table(), "--error", "0.000001", "--max-time", "4s"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "the target was 1e-06; the time limit came first")) << result.out;
  const auto odd = run_program({"outliers", run(), "--data", table(), "--error", "0.000001", "--times", "1000000000000",
                                "--out", out("odd.csv"), "--max-time", "4s"});
  ASSERT_EQ(odd.exit_code, 0) << odd.err;
  EXPECT_TRUE(contains(odd.err, "the target was 1e-06; the time limit came first")) << odd.err;
  EXPECT_TRUE(fs::exists(*folder_ / "odd.csv"));
}

TEST_F(CliMaxTime, ALimitThatIsNotReachedChangesNothing) {
  const Arguments command{"outliers", run(), "--data", table(), "--out"};
  ASSERT_EQ(run_program(command + Arguments{out("a.csv")}).exit_code, 0);
  ASSERT_EQ(run_program(command + Arguments{out("b.csv"), "--max-time", "10m"}).exit_code, 0);
  EXPECT_EQ(read_file(out("a.csv")), read_file(out("b.csv")));
}

TEST_F(CliMaxTime, SaysWhatIsWrong) {
  const auto result = run_program({"sample", run(), "--count", "1", "--out", out("o.csv"), "--max-time", "soon"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "segre: --max-time soon: expected a time such as 60s, 5m or 1h\n");
}

}  // namespace
}  // namespace segre::max_time_test
