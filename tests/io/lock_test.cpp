#include "segre/io/lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/heard_log.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::lock_test {
namespace {

namespace fs = std::filesystem;
using test::input_error;
using test::ScratchFolder;

TEST(ProcessLock, ASecondOneIsRefusedWithTheProcessThatHasIt) {
  const ScratchFolder folder;
  {
    const ProcessLock lock(folder / ".lock", "run");
    const auto message = input_error([&] { ProcessLock(folder / ".lock", "run"); });
    EXPECT_TRUE(test::contains(message, concat("run: another process is writing it (process ", ::getpid(), " on ")));
    EXPECT_TRUE(test::contains(message, "); wait until it ends, or choose another folder"));
    EXPECT_TRUE(fs::exists(folder / ".lock")) << "the one refused leaves it alone";
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  const ProcessLock again(folder / ".lock", "run");
}

TEST(ProcessLock, DiesWithItsProcess) {
  const ScratchFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const ProcessLock lock(folder / ".lock", "run");
    [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(
      test::contains(input_error([&] { ProcessLock(folder / ".lock", "run"); }), concat("(process ", child, " on ")));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(folder / ".lock")) << "nobody could remove it";
  const ProcessLock lock(folder / ".lock", "run");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(ProcessLock, CanBeWaitedFor) {
  const ScratchFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    {
      const ProcessLock lock(folder / ".lock", "run");
      [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
      ::usleep(200'000);
      test::write_text(folder / "done", "");
    }
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  test::HeardLog log;
  const ProcessLock lock(folder / ".lock", "run", ProcessLock::Held::wait);
  EXPECT_TRUE(fs::exists(folder / "done"));
  EXPECT_TRUE(test::contains(log.text(), concat("note: run: waiting for another process (process ", child, " on ")));
  EXPECT_TRUE(fs::exists(folder / ".lock")) << "it is ours now";
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(ProcessLock, AFolderThatCannotBeWrittenIsNamed) {
  const ScratchFolder folder;
  EXPECT_EQ(test::any_error([&] { ProcessLock(folder / "no/.lock", "run"); }),
            (folder / "no/.lock").string() + ": cannot be written (No such file or directory)");
}

}  // namespace
}  // namespace segre::lock_test
