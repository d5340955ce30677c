#include "segre/space/moment.h"

#include <gtest/gtest.h>

namespace segre::moment_test {
namespace {

// Seconds as printed by `date -u -d ... +%s`.
TEST(Moment, CountsTheSecondsSince1970) {
  EXPECT_EQ(parse_moment("1970-01-01")->seconds, 0);
  EXPECT_EQ(parse_moment("2020-02-29")->seconds, 1'582'934'400);
  EXPECT_EQ(parse_moment("1969-12-31 23:59:59")->seconds, -1);
  EXPECT_EQ(parse_moment("2021-05-06 07:08")->seconds, 1'620'284'880);
  EXPECT_EQ(parse_moment("2021-05-06T07:08:09")->seconds, 1'620'284'889);
  EXPECT_EQ(parse_moment("0001-01-01")->seconds, kFirstSecond);
  EXPECT_EQ(parse_moment("9999-12-31 23:59:59")->seconds, kLastSecond);
}

TEST(Moment, KnowsWhatItWasGivenTo) {
  EXPECT_EQ(parse_moment("2021-05-06")->resolution, kSecondsPerDay);
  EXPECT_EQ(parse_moment("2021-05-06 07:08")->resolution, 60);
  EXPECT_EQ(parse_moment("2021-05-06 07:08:09")->resolution, 1);
}

TEST(Moment, OtherTextsAndDaysThatNoCalendarHasAreNone) {
  for (const char* text :
       {"", "2021", "2021-5-6", "2021-05-06 ", "2021/05/06", "06.05.2021", "2021-02-29", "2021-13-01", "2021-00-01",
        "2021-01-00", "0000-01-01", "2021-05-06 24:00", "2021-05-06 07:60", "2021-05-06 07:08:60",
        "2021-05-06 07:08:09Z", "2021-05-06x07:08", "20a1-05-06", "-021-05-06"})
    EXPECT_FALSE(parse_moment(text)) << text;
}

TEST(Moment, IsWrittenAsItIsRead) {
  for (const char* text : {"1970-01-01", "1969-12-31", "2020-02-29", "0001-01-01", "9999-12-31"})
    EXPECT_EQ(moment_text(parse_moment(text)->seconds, kSecondsPerDay), text);
  EXPECT_EQ(moment_text(parse_moment("1969-12-31 23:59:58")->seconds, 1), "1969-12-31 23:59:58");
  EXPECT_EQ(moment_text(parse_moment("2021-05-06T07:08:09")->seconds, 60), "2021-05-06 07:08");
}

}  // namespace
}  // namespace segre::moment_test
