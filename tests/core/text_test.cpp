#include "segre/core/text.h"

#include "tests/support/support.h"

namespace segre::text_test {
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
  EXPECT_EQ(nearest("cat", {"cat's", "bat"}), "bat") << "one substitution is less than two insertions";
  EXPECT_EQ(nearest("abcd", {"axyd", "abc"}), "abc") << "one deletion is less than two substitutions";
}

TEST(Text, FixedHasTheDigitsAskedFor) {
  EXPECT_EQ(fixed(0.5, 3), "0.500");
  EXPECT_EQ(fixed(-12.345, 1), "-12.3");
  EXPECT_EQ(fixed(2.0, 0), "2");
}

TEST(Text, WrapBreaksBetweenWords) {
  EXPECT_EQ(wrap("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrap("one two three", 6), "one\ntwo\nthree");
  EXPECT_EQ(wrap("a immensely b", 4), "a\nimmensely\nb") << "a word is never cut";
  EXPECT_EQ(wrap("", 4), "");
}

TEST(Text, TheNearestOfAVeryLongWordIsFoundAtOnce) {
  const std::string word(1'000'000, 'x');
  const double start = test::thread_seconds();
  EXPECT_EQ(nearest(word, {"a", std::string(500'000, 'x'), "b"}), std::string(500'000, 'x'));
  EXPECT_LT(test::thread_seconds() - start, 0.5);  // the whole table of distances would take minutes
}

TEST(PlainDigits, HaveNoExponent) {
  EXPECT_EQ(plain_digits(213247.0, 3), "213000");
  EXPECT_EQ(plain_digits(54.3718, 4), "54.37");
  EXPECT_EQ(plain_digits(0.0123456, 3), "0.0123");
  EXPECT_EQ(plain_digits(9.996, 3), "10.0");
  EXPECT_EQ(plain_digits(-1e-7, 2), "-0.00000010");
  EXPECT_EQ(plain_digits(0.0, 3), "0");
  EXPECT_EQ(plain_digits(1e6, 3), "1000000");
}

}  // namespace
}  // namespace segre::text_test
