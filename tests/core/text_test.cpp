#include "segre/core/text.h"

#include <gtest/gtest.h>

namespace segre {
namespace {

using Pieces = std::vector<std::string>;

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b", ','), (Pieces{"a", "", "b"}));
  EXPECT_EQ(split("", ','), Pieces{""});
  EXPECT_EQ(split("a,", ','), (Pieces{"a", ""}));
}

TEST(Text, JoinUndoesSplit) {
  for (const char* text : {"", "a", "a,,b", ","}) EXPECT_EQ(join(split(text, ','), ","), text);
}

TEST(Text, NearestCountsEdits) {
  EXPECT_EQ(nearest("treshold", {"pad", "threshold", "labels"}), "threshold");
  EXPECT_EQ(nearest("x", {"pad", "limit"}), "pad") << "two substitutions or deletions less than of limit";
  EXPECT_EQ(nearest("b", {"a", "c"}), "a") << "the first of equals";
}

}  // namespace
}  // namespace segre
