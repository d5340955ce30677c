// Signals and what they leave behind, in child processes.

#include "segre/core/cleanup.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "segre/core/interrupt.h"
#include "segre/io/output.h"
#include "tests/support/support.h"

namespace segre::cleanup_test {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using test::write_text;

// The exit code of a child process that runs `action`; -signal if a signal ended it.
int in_child(const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGPIPE}) std::signal(number, SIG_DFL);
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Cleanup, ASignalRemovesWhatIsUnfinishedAndNothingElse) {
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) {
    const ScratchFolder folder;
    write_text(folder / "mine.csv", "old");
    EXPECT_EQ(in_child([&] {
                end_cleanly_on_signals();
                const OutputFile file("--out", (folder / "mine.csv").string());
                const OutputFolder made("--out", (folder / "a/b/c").string());
                WholeFolder maps(folder / "maps");
                for (int k = 0; k < 1000; ++k)  // more than one directory read returns
                  write_text(maps.path() / concat("a-rather-long-name-of-a-label-map-", k, ".png"), "x");
                WholeFile map(maps.path() / "unfinished.png");
                ::raise(number);
              }),
              exit_code_of(number));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
    EXPECT_EQ(read_file(folder / "mine.csv"), "old");
  }
}

TEST(Cleanup, WhatIsFinishedStays) {
  const ScratchFolder folder;
  EXPECT_EQ(in_child([&] {
              end_cleanly_on_signals();
              const OutputFolder out("--out", (folder / "d").string());
              OutputFile file("--out", (folder / "d/f").string());
              file.write([](std::ostream& stream) { stream << "whole"; });
              write_directory_whole(folder / "maps", [](const fs::path& into) { write_text(into / "m", "x"); });
              ::raise(SIGINT);
            }),
            130);
  EXPECT_EQ(read_file(folder / "d/f"), "whole");
  EXPECT_EQ(read_file(folder / "maps/m"), "x");
}

TEST(Interrupt, TheFirstSignalAsksAndTheSecondEnds) {
  const ScratchFolder folder;
  EXPECT_EQ(in_child([&] {
              end_cleanly_on_signals();
              const InterruptGuard guard;
              const OutputFile file("--out", (folder / "f").string());
              ::raise(SIGTERM);
              if (!InterruptGuard::requested() || InterruptGuard::signal() != SIGTERM) ::_exit(1);
              if (fs::is_empty(folder.path())) ::_exit(2);
              ::raise(SIGINT);
            }),
            130);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Interrupt, WithoutAGuardTheFirstSignalEnds) {
  EXPECT_EQ(in_child([] {
              end_cleanly_on_signals();
              { const InterruptGuard guard; }
              ::raise(SIGTERM);
            }),
            143);
}

TEST(Interrupt, ASignalThatIsIgnoredStaysIgnored) {
  EXPECT_EQ(in_child([] {
              std::signal(SIGINT, SIG_IGN);
              end_cleanly_on_signals();
              const InterruptGuard guard;
              ::raise(SIGINT);
              if (InterruptGuard::requested()) ::_exit(1);
            }),
            0);
}

}  // namespace
}  // namespace segre::cleanup_test
