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

// The same moment in the patterns of columns.
TEST(Moment, HasPatterns) {
  const int64_t seconds = parse_moment("2024-03-05 07:08:09")->seconds;
  const std::pair<const char*, const char*> written[] = {
      {"%Y-%m-%dT%T", "2024-03-05T07:08:09"},          {"%d.%m.%Y %T", "05.03.2024 07:08:09"},
      {"%-d.%-m.%Y %T", "5.3.2024 07:08:09"},          {"%m/%d/%Y %T", "03/05/2024 07:08:09"},
      {"%Y-%m-%d %TZ", "2024-03-05 07:08:09Z"},        {"%Y-%m-%d %T+01:30", "2024-03-05 08:38:09+01:30"},
      {"%Y/%m/%dT%T-0800", "2024/03/04T23:08:09-0800"}};
  for (const auto& [pattern, text] : written) {
    EXPECT_TRUE(is_moment_pattern(pattern)) << pattern;
    EXPECT_EQ(moment_text(static_cast<double>(seconds), 1, 0, pattern), text);
    const auto read = parse_moment(text, pattern);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->seconds, seconds) << text;
    EXPECT_EQ(read->resolution, 1);
  }
  EXPECT_EQ(moment_text(static_cast<double>(seconds), kSecondsPerDay, 0, "%d.%m.%Y"), "05.03.2024");
}

TEST(Moment, IsATimeOfDayOrADuration) {
  EXPECT_EQ(parse_moment("07:08", moment_pattern::kTime)->seconds, 25'680);
  EXPECT_EQ(moment_text(25'680.0, 60, 0, moment_pattern::kTime), "07:08");
  for (const char* text : {"24:00", "7:08", "1:30", "07:60", "07", "07:08x", "123:45"})
    EXPECT_FALSE(parse_moment(text, moment_pattern::kTime)) << text;
  // As pandas writes them: -1 days +23:59:58 are two seconds less than nothing.
  const std::pair<const char*, double> durations[] = {
      {"0 days 00:00:05", 5.0}, {"1 days 02:03:04", 93'784.0}, {"-1 days +23:59:58", -2.0}};
  for (const auto& [text, seconds] : durations) {
    EXPECT_EQ(static_cast<double>(parse_moment(text, moment_pattern::kDuration)->seconds), seconds) << text;
    EXPECT_EQ(moment_text(seconds, 1, 0, moment_pattern::kDuration), text);
  }
  EXPECT_EQ(moment_text(172'800.0, kSecondsPerDay, 0, moment_pattern::kDuration), "2 days");
}

TEST(Moment, HasFractionsOfSeconds) {
  const auto read = parse_moment("2024-03-05 07:08:09.125", moment_pattern::kIso);
  EXPECT_EQ(read->digits, 3);
  EXPECT_DOUBLE_EQ(read->fraction, 0.125);
  EXPECT_EQ(moment_text(static_cast<double>(read->seconds) + 0.125, 1, 3), "2024-03-05 07:08:09.125");
  EXPECT_EQ(moment_text(static_cast<double>(read->seconds) + 0.9999999, 1, 3), "2024-03-05 07:08:10.000");
}

TEST(Moment, OtherPatternsAreNone) {
  for (const char* text : {"", "%", "%Y", "%Y-%m", "%Y-%m-%m", "%Y-%m-%d-", "%Y-%m-%d%T", "%Y-%m-%d %T+x", "%Y %m %d",
                           "%Y-%m-%", "%Y-%m-%-", "%Y-%m-%d+01:00", "%T %T", "%D", "%d"})
    EXPECT_FALSE(is_moment_pattern(text)) << text;
}

}  // namespace
}  // namespace segre::moment_test
