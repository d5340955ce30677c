#include "segre/core/log.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

namespace segre {
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

}  // namespace
}  // namespace segre
