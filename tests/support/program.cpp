#include "tests/support/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "segre/io/files.h"

extern char** environ;

namespace segre::test {
namespace {

// The environment with one thread: tests run side by side, and threads of several programs on few cores starve.
std::vector<char*> environment() {
  static char one_thread[] = "OMP_NUM_THREADS=1";
  std::vector<char*> out;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string(*entry).starts_with("OMP_NUM_THREADS=")) out.push_back(*entry);
  out.push_back(one_thread);
  out.push_back(nullptr);
  return out;
}

constexpr int kNewFile = O_WRONLY | O_CREAT | O_TRUNC;

}  // namespace

Program::Program(const Arguments& arguments, const std::string& out)
    : out_(out.empty() ? (folder_ / "out").string() : out) {
  std::vector<std::string> texts{SEGRE_PROGRAM};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);

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
  const int error = posix_spawn(&process_, SEGRE_PROGRAM, &actions, &attributes, argv.data(), environment().data());
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
