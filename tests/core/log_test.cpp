#include "segre/core/log.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <thread>

namespace segre::log_test {
namespace {

TEST(Log, GoesWhereItIsSentAndElseNowhere) {
  std::ostringstream mine;
  send_log_to(&mine);
  note("step ", 3);
  EXPECT_EQ(mine.str(), "note: step 3\n");
  testing::internal::CaptureStderr();
  send_log_to(nullptr);
  log_stream() << "nobody hears " << 1.5 << std::flush;
  EXPECT_TRUE(log_stream().good());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(mine.str(), "note: step 3\n");
  send_log_to(&std::cerr);  // as the tests' main() sets it
}

TEST(Log, LinesAreRedrawnOnlyWhereTheProgramSaysSo) {
  std::ostringstream mine;
  send_log_to(&mine, /*redraws=*/true);
  EXPECT_TRUE(log_redraws());
  send_log_to(&mine);
  EXPECT_FALSE(log_redraws());
  testing::internal::CaptureStderr();  // to a file
  send_log_to(&std::cerr);
  EXPECT_FALSE(log_redraws());
  testing::internal::GetCapturedStderr();
  send_log_to(&std::cerr);  // as the tests' main() sets it
}

TEST(Log, NotesGoToTheCollectorOfTheirThread) {
  std::ostringstream mine;
  send_log_to(&mine);
  {
    NoteCollector outer;
    note("one");
    note("two\nlines");
    note("one");
    EXPECT_EQ(outer.take(), (std::vector<std::string>{"one", "two\\nlines"}));
    {
      const NoteCollector inner;
      note("three");  // nobody takes it from there
    }
    EXPECT_EQ(outer.take(), std::vector<std::string>{"three"});
    std::thread([] { note("four"); }).join();
    note("five");
    EXPECT_EQ(mine.str(), "note: four\n");
  }
  EXPECT_EQ(mine.str(), "note: four\nnote: five\n");
  send_log_to(&std::cerr);  // as the tests' main() sets it
}

}  // namespace
}  // namespace segre::log_test
