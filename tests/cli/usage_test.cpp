// General behaviour: help, exit codes, one-line messages, and the output of the small commands.

#include <nlohmann/json.hpp>

#include "segre/core/text.h"
#include "segre/core/version.h"
#include "segre/io/files.h"
#include "segre/recipes/experiment.h"
#include "tests/support/messages.h"
#include "tests/support/program.h"

namespace segre::usage_test {
namespace {

namespace fs = std::filesystem;
using test::Arguments;
using test::contains;
using test::input_error;
using test::ProgramResult;
using test::run_program;
using test::ScratchFolder;
using test::write_text;

constexpr int kRunFailed = 1;
constexpr int kBadInput = 2;

bool is_one_line(const std::string& text) { return !text.empty() && text.find('\n') == text.size() - 1; }

// Bad usage: exit code 2, one line on stderr, nothing on stdout.
std::string usage_error(const Arguments& arguments) {
  const ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(is_one_line(result.err)) << result.err;
  return result.err;
}

TEST(CliUsage, HelpListsTheCommands) {
  for (const char* flag : {"--help", "-h"}) {
    const auto result = run_program({flag});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
    for (const char* command : {"train", "sample", "samplers", "keys", "doctor", "version"})
      EXPECT_TRUE(contains(result.out, command));
  }
}

TEST(CliUsage, HelpOfEveryCommandShowsAnExample) {
  for (const char* command : {"train", "sample", "samplers", "keys", "doctor", "version"}) {
    const auto result = run_program({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_EQ(result.err, "") << command;
    EXPECT_TRUE(contains(result.out, concat("\nExample: segre ", command)));
  }
}

TEST(CliUsage, WithoutACommandItSaysWhereHelpIs) { EXPECT_TRUE(contains(usage_error({}), "see 'segre --help'")); }

TEST(CliUsage, UnknownCommandsAndOptionsAreRefused) {
  usage_error({"trian"});
  usage_error({"--frobnicate"});
  EXPECT_TRUE(contains(usage_error({"version", "--frobnicate"}), "--frobnicate"));
  EXPECT_TRUE(contains(usage_error({"train", "--out", "run", "--frobnicate"}), "--frobnicate"));
  EXPECT_TRUE(contains(usage_error({"sample", "run", "--count", "1", "--out", "x.csv", "more"}), "more"));
}

TEST(CliUsage, AnUnknownCommandIsNamed) { EXPECT_TRUE(contains(usage_error({"trian"}), "trian")); }

TEST(CliUsage, MissingOptionsAreNamed) {
  EXPECT_TRUE(contains(usage_error({"train", "--data", "coupled"}), "--out"));
  EXPECT_TRUE(contains(usage_error({"sample", "--count", "5", "--out", "x.csv"}), "RUN"));
  EXPECT_TRUE(contains(usage_error({"sample", "run", "--out", "x.csv"}), "--count"));
  EXPECT_TRUE(contains(usage_error({"sample", "run", "--count", "5"}), "--out"));
}

TEST(CliUsage, NumbersThatAreNoneOrOutOfRangeAreRefused) {
  EXPECT_TRUE(contains(usage_error({"train", "--data", "coupled", "--out", "run", "--seed", "-1"}), "--seed"));
  EXPECT_TRUE(contains(usage_error({"train", "--data", "coupled", "--out", "run", "--seed", "x"}), "--seed"));
  for (const char* count : {"0", "-5", "many"})
    EXPECT_TRUE(contains(usage_error({"sample", "run", "--count", count, "--out", "x.csv"}), "--count"));
}

TEST(CliUsage, NumbersAreDecimal) {
  for (const char* count : {"010", "0x10", "1e3"})
    EXPECT_EQ(usage_error({"sample", "run", "--count", count, "--out", "x.csv"}),
              concat("segre: --count: ", count,
                     " is not a whole number in decimal digits, such as 1000; see 'segre --help'\n"));
  for (const char* share : {"nan", "0x1"})
    EXPECT_EQ(
        usage_error({"samplers", "run", "--out", "x", "--threshold", share}),
        concat("segre: --threshold: ", share, " is not a decimal number, such as 0.5 or 1e-3; see 'segre --help'\n"));
  // Decimal numbers are accepted: the error is the missing run.
  EXPECT_TRUE(contains(usage_error({"samplers", "none", "--out", "x", "--threshold", "5e-3", "--count", "+10"}),
                       "none: is not a trained run"));
}

TEST(CliUsage, AFullDiskBehindStdoutIsAFailureOfEveryCommand) {
  const Arguments commands[] = {{"--help"},
                                {"keys"},
                                {"doctor"},
                                {"version"},
                                {"train", "--help"},
                                {"describe", "--data", "coupled"},
                                {"data", "inspect", "coupled"}};
  for (const Arguments& arguments : commands) {
    const auto result = run_program(arguments, "/dev/full");
    EXPECT_EQ(result.exit_code, kRunFailed) << arguments[0];
    EXPECT_TRUE(result.err.ends_with("segre: writing to standard output failed\n")) << result.err;
  }
}

TEST(CliUsage, TheDemoRemovesNoFoldersOfTheUsers) {
  const ScratchFolder folder;
  fs::create_directories(folder / "pinwheel");
  write_text(folder / "pinwheel" / "notes.txt", "mine");
  const auto refusal = [&](const char* name) {
    return concat("segre: --out ", folder.path().string(), ": ", (folder / name).string(),
                  " already exists and was not made by 'segre demo'; move it, or choose another --out\n");
  };
  const Arguments demo{"demo", "--out", folder.path().string(), "--max-time", "1s", "--count", "10"};
  EXPECT_EQ(usage_error(demo), refusal("pinwheel"));
  EXPECT_EQ(read_file(folder / "pinwheel" / "notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(folder / "coupled")) << "refused before any work";
  // A run that the user trained there.
  ASSERT_EQ(run_program(test::tiny_training("coupled", folder / "coupled", 1)).exit_code, 0);
  EXPECT_EQ(usage_error(demo), refusal("coupled"));
  EXPECT_EQ(run_program({"sample", (folder / "coupled").string(), "--count", "5", "--out", "-"}).exit_code, 0);
}

TEST(CliUsage, ARunThatCannotBeMadeIsRefusedInOneLine) {
  const ScratchFolder folder;
  write_text(folder / "file", "");
  const auto result = run_program(test::tiny_training("coupled", folder / "file" / "run", 1));
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_TRUE(is_one_line(result.err)) << result.err;
  EXPECT_TRUE(contains(result.err, (folder / "file").string())) << result.err;
}

TEST(CliUsage, VersionNamesReleaseRevisionAndTorch) {
  const auto result = run_program({"version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(is_one_line(result.out));
  EXPECT_TRUE(result.out.starts_with(concat("segre ", release(), " ("))) << result.out;
  EXPECT_TRUE(contains(result.out, "torch 2."));
}

TEST(CliUsage, ThreadsAreAnOptionOfEveryCommand) {
  EXPECT_TRUE(contains(run_program({"doctor", "--threads", "3"}).out, "\nthreads    3\n"));
  for (const char* command : {"demo", "data inspect", "describe", "train", "sample", "samplers", "likelihood", "ood",
                              "evaluate", "convergence", "oracle", "export", "keys"}) {
    Arguments arguments = split(command, ' ');
    arguments.push_back("--help");
    EXPECT_TRUE(contains(run_program(arguments).out, "--threads INT")) << command;
  }
  EXPECT_TRUE(contains(usage_error({"doctor", "--threads", "0"}), "--threads"));
}

TEST(CliUsage, DoctorShowsWhatItFound) {
  const auto result = run_program({"doctor"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* line : {"segre ", "\ntorch ", "\ncuda ", "\nthreads    1\n", "\nisa ", "\nmemory ", "\nplotly.js "})
    EXPECT_TRUE(contains(result.out, line));
}

TEST(CliUsage, KeysAreAConfigOfDefaults) {
  const auto result = run_program({"keys"});
  EXPECT_EQ(result.exit_code, 0);
  Experiment defaults;
  Experiment read;
  EXPECT_EQ(input_error([&] { schema_of(read).read_text(result.out, "keys"); }), "");
  EXPECT_EQ(schema_of(read).to_toml(false), schema_of(defaults).to_toml(false));
  EXPECT_TRUE(contains(result.out, schema_of(defaults).to_toml(true)));
}

TEST(CliUsage, TheShippedListOfKeysIsWhatKeysPrints) {
  const fs::path file = fs::path(SEGRE_SOURCE_DIR) / "configs" / "all_keys.toml";
  if (!fs::exists(file)) GTEST_SKIP() << "configs/all_keys.toml is not there";
  EXPECT_EQ(run_program({"keys"}).out, read_file(file)) << "run: build/segre keys > configs/all_keys.toml";
}

}  // namespace
}  // namespace segre::usage_test
