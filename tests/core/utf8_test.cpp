#include "segre/core/utf8.h"

#include "segre/core/error.h"

#include <gtest/gtest.h>

namespace segre::utf8_test {
namespace {

constexpr size_t kNone = std::string_view::npos;

TEST(Utf8, CharactersOfOneToFourBytesAreText) {
  for (const char* text : {"", "plain", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xc2\x80", "\xe0\xa0\x80",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(find_invalid_utf8(text), kNone) << text;
}

TEST(Utf8, TheFirstByteOfWhatIsNoCharacterIsFound) {
  EXPECT_EQ(find_invalid_utf8("caf\xe9"), 3U) << "Latin-1";
  EXPECT_EQ(find_invalid_utf8("a\x80"), 1U) << "in the middle of nothing";
  EXPECT_EQ(find_invalid_utf8("ab\xe2\x82"), 2U) << "cut short";
  EXPECT_EQ(find_invalid_utf8("\xc3\xa9\xc3z"), 2U) << "not followed as it promises";
  EXPECT_EQ(find_invalid_utf8("\xe2\x82z"), 0U);
  EXPECT_EQ(find_invalid_utf8("\xf0\x9f\x98z"), 0U);
  EXPECT_EQ(find_invalid_utf8("\xc0\xaf"), 0U) << "overlong";
  EXPECT_EQ(find_invalid_utf8("\xc1\xbf"), 0U) << "overlong";
  EXPECT_EQ(find_invalid_utf8("\xe0\x9f\xbf"), 0U) << "overlong";
  EXPECT_EQ(find_invalid_utf8("\xf0\x8f\xbf\xbf"), 0U) << "overlong";
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0U) << "a surrogate";
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0U) << "beyond U+10FFFF";
  EXPECT_EQ(find_invalid_utf8("\xf5\x80\x80\x80"), 0U);
  EXPECT_EQ(find_invalid_utf8("\xff"), 0U);
}

TEST(Utf8, Latin1IsConvertedByteByByte) {
  EXPECT_EQ(latin1_to_utf8("caf\xe9"), "caf\xc3\xa9");
  EXPECT_EQ(latin1_to_utf8("\x80\xbf\xc0\xff~"), "\xc2\x80\xc2\xbf\xc3\x80\xc3\xbf~");
}

TEST(Utf8, MessagesShowAnyTextOnOneShortLine) {
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable(std::string("a\nb\r\tc\0\x7f", 8)), "a\\nb\\r\\tc\\x00\\x7f");
  EXPECT_EQ(printable(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(printable(std::string(61, 'x')), concat(std::string(60, 'x'), "..."));
}

}  // namespace
}  // namespace segre::utf8_test
