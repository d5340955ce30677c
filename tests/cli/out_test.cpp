// Every form of --out, and signals while the output is written. tests/cli/out_forms.sh prints the whole table of
// commands and forms.

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <memory>
#include <thread>

#include "segre/core/clock.h"
#include "segre/io/files.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::out_test {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::contains;
using test::Program;
using test::run_program;
using test::ScratchFolder;
using test::tiny_training;
using test::write_text;
using test::operator+;

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;

size_t n_entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

// A trained run of the coupled pair, and a separate output folder for each test.
class CliOut : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<ScratchFolder>();
    ASSERT_EQ(run_program(tiny_training("coupled", run(), 3)).exit_code, 0);
  }
  static void TearDownTestSuite() { shared_.reset(); }

  static fs::path run() { return *shared_ / "run"; }
  fs::path file(const std::string& name) const { return folder_ / name; }
  const fs::path& folder() const { return folder_.path(); }

  // Every command with an --out, up to that option; each would work long enough to be noticed.
  static std::vector<Arguments> commands() {
    const std::string r = run().string();
    return {{"train", "--data", "coupled", "--set", "train.steps=1000000000"},
            {"sample", r, "--count", "100000000"},
            {"samplers", r, "--count", "10000000"},
            {"likelihood", r, "--enumerate", "--times", "40000000"},
            {"ood", r, "--inside", "coupled", "--outside", "coupled", "--items", "100000000"},
            {"evaluate", r, "--data", "coupled", "--count", "100000000"},
            {"convergence", r, "--data", "coupled", "--draws", "100000000"},
            {"export", r},
            {"demo", "--max-time", "10h"},
            {"data", "inspect", "glyphs", "--items", "10000000"}};
  }
  static test::ProgramResult with_out(const Arguments& command, const std::string& out) {
    return run_program(command + Arguments{"--out", out});
  }
  test::ProgramResult sample(const std::string& out, const std::string& count = "5") const {
    return run_program({"sample", run().string(), "--count", count, "--out", out});
  }

 private:
  static std::unique_ptr<ScratchFolder> shared_;
  ScratchFolder folder_;
};

std::unique_ptr<ScratchFolder> CliOut::shared_;

// A file in place of a folder, or the reverse: every command reports it at once, not after hours.
TEST_F(CliOut, EveryCommandRefusesAWrongNameBeforeTheWork) {
  write_text(file("f"), "mine");
  for (const auto& command : commands()) {
    const auto result = with_out(command, file("f").string() + "/x/y.csv");
    EXPECT_EQ(result.exit_code, kBadInput) << command[0];
    EXPECT_TRUE(contains(result.err, "segre: --out " + file("f").string() + "/x/y.csv: cannot be ")) << command[0];
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(n_entries(folder()), 1U) << command[0];
  }
  EXPECT_EQ(read_file(file("f")), "mine");
}

TEST_F(CliOut, ASlashAtTheEndOfAFileIsRefusedBeforeTheWork) {
  const auto name = file("scores.csv").string() + "/";
  const auto result = run_program({"likelihood", run().string(), "--enumerate", "--times", "40000000", "--out", name});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.err, "segre: --out " + name + ": ends in a slash, a file was expected\n");
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(CliOut, AFullDeviceIsFoundBeforeTheWork) {
  const auto result = sample("/dev/full", "100000000");
  EXPECT_EQ(result.exit_code, kRunFailed);
  EXPECT_EQ(result.err, "segre: --out /dev/full: cannot be written (No space left on device)\n");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  const auto behind = run_program({"sample", run().string(), "--count", "100000000", "--out", "-"}, "/dev/full");
  EXPECT_EQ(behind.err, "segre: --out - (standard output): cannot be written (No space left on device)\n");
  EXPECT_EQ(behind.exit_code, kRunFailed);
}

TEST_F(CliOut, ADeviceAndAPipeAreWrittenThrough) {
  EXPECT_EQ(sample("/dev/null").exit_code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const auto plain = sample("-").out;
  ASSERT_TRUE(plain.starts_with("y1,y2\n")) << plain;
  EXPECT_EQ(sample("/dev/stdout").out, plain);
  ASSERT_EQ(::mkfifo(file("p").c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] {
    std::ifstream in(file("p"));
    return std::string(std::istreambuf_iterator<char>(in), {});
  });
  EXPECT_EQ(sample(file("p").string()).exit_code, 0);
  EXPECT_EQ(reader.get(), plain);
  EXPECT_TRUE(fs::is_fifo(file("p")));
}

TEST_F(CliOut, ALinkStaysAndItsFileIsReplaced) {
  write_text(file("f.csv"), "old");
  fs::create_symlink("f.csv", file("link.csv"));
  EXPECT_EQ(sample(file("link.csv").string()).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(file("link.csv")));
  EXPECT_TRUE(read_file(file("f.csv")).starts_with("y1,y2\n"));
  EXPECT_EQ(n_entries(folder()), 2U);
}

TEST_F(CliOut, AReportThatCannotBePrintedIsAFailure) {
  const auto result = run_program({"data", "inspect", "coupled"}, "/dev/full");
  EXPECT_EQ(result.exit_code, kRunFailed);
  EXPECT_TRUE(contains(result.err, "segre: writing to standard output failed\n"));
}

// Waits until something appears in a folder.
void wait_for_an_entry(const fs::path& folder) {
  for (int k = 0; k < 600 && fs::is_empty(folder); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_FALSE(fs::is_empty(folder)) << "nothing was begun";
}

TEST_F(CliOut, ASignalLeavesNothingUnfinishedBehind) {
  const std::string r = run().string();
  const std::vector<Arguments> begun{
      {"sample", r, "--count", "1000000000", "--out", file("s.csv").string()},
      {"likelihood", r, "--enumerate", "--samples", "1000000000", "--out", file("l.csv").string()},
      {"ood", r, "--inside", "coupled", "--outside", "coupled", "--items", "100000000", "--out", file("o").string()},
      {"evaluate", r, "--data", "coupled", "--count", "1000000000", "--out", file("e/f").string()},
      {"outliers", r, "--data", "coupled", "--items", "9", "--error", "1e-9", "--times", "400000000", "--out",
       file("w.csv").string()},
      {"samplers", r, "--count", "100000000", "--out", file("m").string()},
      {"convergence", r, "--data", "coupled", "--draws", "1000000000", "--out", file("c").string()},
  };
  int number = SIGINT;
  for (const auto& command : begun) {
    Program program(command);
    wait_for_an_entry(folder());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    program.signal(number);
    const double signalled = now_seconds();
    const auto result = program.wait();
    EXPECT_LT(now_seconds() - signalled, 1.0) << command[0];
    EXPECT_EQ(result.exit_code, 128 + number) << command[0] << result.err;
    EXPECT_TRUE(fs::is_empty(folder())) << command[0];
    number = number == SIGINT ? SIGTERM : SIGINT;
  }
}

TEST_F(CliOut, ASignalToADemoEndsItAfterSaving) {
  Program program({"demo", "--max-time", "10h", "--out", file("demo").string()});
  const auto checkpoint = file("demo/coupled/checkpoints/step-0000000000000");
  for (int k = 0; k < 600 && !fs::exists(checkpoint); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 130);
  EXPECT_FALSE(fs::exists(file("demo/mixture")));
}

}  // namespace
}  // namespace segre::out_test
