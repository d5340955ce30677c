#include "tests/support/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "segre/io/files.h"

extern char** environ;

namespace segre::test {
namespace {

// This environment with some variables set, as texts.
std::vector<std::string> environment(const std::vector<std::string>& variables) {
  // One thread: tests run side by side, and threads of several programs on few cores starve.
  std::vector<std::string> set{"OMP_NUM_THREADS=1"};
  set.insert(set.end(), variables.begin(), variables.end());
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    if (std::none_of(set.begin(), set.end(), [&](const std::string& other) { return other.starts_with(name); }))
      out.push_back(text);
  }
  out.insert(out.end(), set.begin(), set.end());
  return out;
}

// The same as C functions take it; valid as long as `texts`.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

constexpr int kNewFile = O_WRONLY | O_CREAT | O_TRUNC;

}  // namespace

Program::Program(const Arguments& arguments, const std::string& out, const std::vector<std::string>& variables)
    : out_(out.empty() ? (folder_ / "out").string() : out) {
  std::vector<std::string> texts{SEGRE_PROGRAM};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  auto set = environment(variables);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_.c_str(), kNewFile, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (folder_ / "err").c_str(), kNewFile, 0600);
  // Tests in the background of a script would pass on an ignored SIGINT.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&defaults, number);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error =
      posix_spawn(&process_, SEGRE_PROGRAM, &actions, &attributes, pointers(texts).data(), pointers(set).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("cannot start ", SEGRE_PROGRAM);
}

Program::~Program() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void Program::signal(int number) const { ::kill(process_, number); }

ProgramResult Program::wait() {
  int status = 0;
  ::waitpid(process_, &status, 0);
  return ended_with(status);
}

std::optional<ProgramResult> Program::result_if_ended() {
  int status = 0;
  if (process_ < 0 || ::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  return ended_with(status);
}

ProgramResult Program::ended_with(int status) {
  process_ = -1;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  const bool readable = std::filesystem::is_regular_file(out_);
  return {code, readable ? read_file(out_) : "", read_file(folder_ / "err")};
}

ProgramResult run_program(const Arguments& arguments, const std::string& out) { return Program(arguments, out).wait(); }

Arguments operator+(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void expect_overwritten(const ProgramResult& result, const std::filesystem::path& file) {
  EXPECT_EQ(result.exit_code, 2) << "bad input";
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find(file.string()), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" has changed since the run learned from it: it then had "), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("; give them with --train SOURCE\n"), std::string::npos) << result.err;
}

Arguments tiny_training(const std::string& source, const std::filesystem::path& run, int steps) {
  return {"train",
          "--data",
          source,
          "--out",
          run.string(),
          "--set",
          "net.kind=mlp",
          "--set",
          "net.hidden=[8]",
          "--set",
          "train.batch=64",
          "--set",
          concat("train.steps=", steps)};
}

}  // namespace segre::test
