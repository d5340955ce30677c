#include "segre/core/talk.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

namespace segre {
namespace {

TEST(Talk, GoesToStandardErrorUnlessSentElsewhereOrNowhere) {
  EXPECT_EQ(&talk(), &std::cerr);
  std::ostringstream mine;
  set_talk(&mine);
  talk() << "step " << 3;
  EXPECT_EQ(mine.str(), "step 3");
  testing::internal::CaptureStderr();
  set_talk(nullptr);
  talk() << "nobody hears " << 1.5 << std::flush;
  EXPECT_TRUE(talk().good());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(mine.str(), "step 3");
  set_talk(&std::cerr);
  EXPECT_EQ(&talk(), &std::cerr);
}

}  // namespace
}  // namespace segre
