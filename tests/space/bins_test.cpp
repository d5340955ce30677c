#include "segre/space/bins.h"

#include <nlohmann/json.hpp>
#include <set>

#include "segre/space/moment.h"
#include "tests/support/support.h"

namespace segre::bins_test {
namespace {

using test::input_error;
using Unit = Bins::Unit;

double seconds(const char* text) { return static_cast<double>(parse_moment(text)->seconds); }

Bins ages() { return {Unit::number, {20, 35, 80}, 0}; }

TEST(Bins, AreNamedByTheirEnds) {
  EXPECT_EQ(ages().size(), 2);
  EXPECT_EQ(ages().name(0), "[20, 35)");
  EXPECT_EQ(ages().name(1), "[35, 80]");
  const Bins fares{Unit::number, {-1.5, 7.25, 512.3292}, 4};
  EXPECT_EQ(fares.name(0), "[-1.5, 7.25)");
  EXPECT_EQ(fares.name(1), "[7.25, 512.3292]");
  const Bins dates{Unit::day, {seconds("2020-01-03"), seconds("2021-05-06"), seconds("2021-05-06")}};
  EXPECT_EQ(dates.name(0), "[2020-01-03, 2021-05-06)");
  EXPECT_EQ(dates.name(1), "[2021-05-06, 2021-05-06]");
  EXPECT_EQ((Bins{Unit::minute, {0, 3600}}).name(0), "[1970-01-01 00:00, 1970-01-01 01:00]");
  EXPECT_EQ((Bins{Unit::second, {0, 3601}}).name(0), "[1970-01-01 00:00:00, 1970-01-01 01:00:01]");
}

TEST(Bins, CoverTheRangeOfTheData) {
  EXPECT_EQ(ages().range(), "20 to 80");
  EXPECT_TRUE(ages().covers(20));
  EXPECT_TRUE(ages().covers(80));
  EXPECT_FALSE(ages().covers(19.999));
  EXPECT_FALSE(ages().covers(80.001));
  EXPECT_EQ((Bins{Unit::day, {0, 86'400}}).range(), "1970-01-01 to 1970-01-02");
}

TEST(Bins, MeasureWhatLiesOutsideInWidthsOfTheNearest) {
  EXPECT_EQ(ages().beyond(20), 0.0);
  EXPECT_EQ(ages().beyond(80), 0.0);
  EXPECT_DOUBLE_EQ(ages().beyond(17), 3.0 / 15.0) << "of [20, 35)";
  EXPECT_DOUBLE_EQ(ages().beyond(-10), 2.0);
  EXPECT_DOUBLE_EQ(ages().beyond(89), 0.2) << "of [35, 80]";
  // The last bin holds a single value: widths of all of them.
  EXPECT_DOUBLE_EQ((Bins{Unit::number, {0, 4, 10, 10}, 0}).beyond(15), 0.5);
  EXPECT_DOUBLE_EQ((Bins{Unit::number, {0, 0, 10}, 0}).beyond(-5), 0.5);
  EXPECT_DOUBLE_EQ((Bins{Unit::number, {0, 50, 99.99, 100}, 0}).beyond(100.5), 0.5) << "widths of 1, not of 0.01";
  EXPECT_GT((Bins{Unit::number, {7, 7}, 0}).beyond(7.5), 1e300) << "training had no other value";
}

TEST(Bins, HaveTheirLowerEndAndTheLastAlsoItsUpper) {
  EXPECT_EQ(ages().find(20), 0);
  EXPECT_EQ(ages().find(34.999), 0);
  EXPECT_EQ(ages().find(35), 1);
  EXPECT_EQ(ages().find(80), 1);
  const Bins point{Unit::number, {0, 1, 1}, 0};
  EXPECT_EQ(point.find(0.5), 0);
  EXPECT_EQ(point.find(1), 1);
  EXPECT_EQ((Bins{Unit::number, {5, 5}, 0}).find(5), 0);
}

TEST(Bins, WhatLiesOutsideFallsIntoTheFirstAndTheLast) {
  EXPECT_EQ(ages().find(-1e300), 0);
  EXPECT_EQ(ages().find(81), 1);
}

TEST(Bins, ReadNumbersOrDates) {
  EXPECT_EQ(ages().parse("34.5"), 34.5);
  EXPECT_EQ(ages().parse(" 7 "), 7.0);
  EXPECT_EQ(ages().parse("-1e3"), -1000.0);
  for (const char* text : {"", "x", "1x", "inf", "nan", "1e400", "0x10", "1,5", "2020-01-03", "[20, 35)"})
    EXPECT_FALSE(ages().parse(text)) << text;
  const Bins dates{Unit::day, {0, 86'400}};
  EXPECT_EQ(dates.parse("1970-01-02 00:01"), 86'460.0) << "finer than the data were";
  EXPECT_FALSE(dates.parse("7"));
}

// Every value that the data could hold, and no other.
std::set<std::string> drawn(const Bins& bins, int64_t bin) {
  std::set<std::string> values;
  for (int k = 0; k < 1000; ++k) values.insert(bins.draw(bin, k / 1000.0));
  return values;
}

TEST(Bins, DrawTheValuesThatTheDataCouldHold) {
  const Bins whole{Unit::number, {1, 4, 6}, 0};
  EXPECT_EQ(drawn(whole, 0), (std::set<std::string>{"1", "2", "3"}));
  EXPECT_EQ(drawn(whole, 1), (std::set<std::string>{"4", "5", "6"}));
  const Bins tenths{Unit::number, {-0.1, 0.2, 0.4}, 1};
  EXPECT_EQ(drawn(tenths, 0), (std::set<std::string>{"-0.1", "0.0", "0.1"}));
  EXPECT_EQ(drawn(tenths, 1), (std::set<std::string>{"0.2", "0.3", "0.4"}));
  const Bins days{Unit::day, {seconds("2020-02-28"), seconds("2020-03-01"), seconds("2020-03-01")}};
  EXPECT_EQ(drawn(days, 0), (std::set<std::string>{"2020-02-28", "2020-02-29"}));
  EXPECT_EQ(drawn(days, 1), std::set<std::string>{"2020-03-01"});
  EXPECT_EQ(drawn({Unit::minute, {0, 120, 120}}, 0), (std::set<std::string>{"1970-01-01 00:00", "1970-01-01 00:01"}));
  EXPECT_EQ(drawn({Unit::number, {5, 5}, 0}, 0), std::set<std::string>{"5"});
}

TEST(Bins, WriteNoNegativeZero) {
  const Bins tenths{Unit::number, {-0.3, 0.3, 0.7}, 1};
  EXPECT_TRUE(drawn(tenths, 0).contains("0.0"));
  EXPECT_FALSE(drawn(tenths, 0).contains("-0.0"));
  EXPECT_EQ((Bins{Unit::number, {-0.0, 1}, 0}).name(0), "[0, 1]");
}

TEST(Bins, DrawUniformly) {
  EXPECT_EQ(ages().draw(0, 0.0), "20");
  EXPECT_EQ(ages().draw(0, 0.5), "27");
  EXPECT_EQ(ages().draw(0, 0.999), "34");
  EXPECT_EQ((Bins{Unit::number, {0, 1}, Bins::kAnyDecimals}).draw(0, 0.375), "0.375");
}

// For any finite edges: a value drawn from a bin falls into the same bin.
TEST(Bins, FindWhatTheyDraw) {
  const Bins strange[] = {
      ages(),
      {Unit::number, {-1.7e308, 0, 1.7e308}, 0},
      {Unit::number, {1e-300, 2e-300, 3e-300}, Bins::kAnyDecimals},
      {Unit::number, {0.1, 0.3, 0.7}, 15},
      {Unit::number, {1e15, 1e15 + 1, 1e15 + 2}, 0},
      {Unit::number, {123456789.123, 123456789.124, 123456789.5}, 3},
      {Unit::second, {-5, 5, 1e9}},
  };
  for (const Bins& bins : strange)
    for (int64_t bin = 0; bin < bins.size(); ++bin)
      for (const double u : {0.0, 0.25, 0.5, 0.999, 1.0 - 0x1p-53}) {
        const std::string text = bins.draw(bin, u);
        const auto value = bins.parse(text);
        ASSERT_TRUE(value) << text;
        EXPECT_EQ(bins.find(*value), bin) << text << " in " << bins.name(bin);
      }
}

TEST(Bins, CountTheDigitsThatANumberNeeds) {
  EXPECT_EQ(decimals_of(20.0), 0);
  EXPECT_EQ(decimals_of(7.25), 2);
  EXPECT_EQ(decimals_of(1e-7), 7);
  EXPECT_EQ(decimals_of(1e300), 0);
  EXPECT_EQ(decimals_of(1.0 / 3.0), Bins::kAnyDecimals);
}

TEST(Bins, GoThroughJson) {
  for (const Bins& bins : {ages(), Bins{Unit::number, {0.1, 0.25, 1e300}, Bins::kAnyDecimals},
                           Bins{Unit::day, {0, 86'400}}, Bins{Unit::second, {-1, 7}}}) {
    const Bins back = Bins::from_json(nlohmann::json::parse(bins.to_json().dump()));
    EXPECT_EQ(back.unit, bins.unit);
    EXPECT_EQ(back.edges, bins.edges);
    EXPECT_EQ(back.decimals, bins.decimals);
  }
}

TEST(Bins, WriteDatesAsTheColumnDoes) {
  Bins dates{Unit::second, {seconds("2024-03-05 07:00"), seconds("2024-03-06 07:00")}};
  dates.are_levels = true;
  dates.stride = 3600;  // whole hours
  dates.pattern = "%d.%m.%Y %T+01:00";
  EXPECT_EQ(dates.text_of(dates.least()), "05.03.2024 08:00:00+01:00");
  EXPECT_EQ(drawn(dates, 0).size(), 25U) << "both ends";
  for (const std::string& text : drawn(dates, 0)) EXPECT_EQ(text.substr(13), ":00:00+01:00") << text;
  EXPECT_EQ(dates.parse("05.03.2024 08:00:00+01:00"), dates.least());
  EXPECT_EQ(dates.parse("05.03.2024 09:00:00+02:00"), dates.least());
  EXPECT_EQ(dates.parse("2024-03-05 08:00:00"), dates.least()) << "in the column's zone, as other programs write it";
  const Bins back = Bins::from_json(nlohmann::json::parse(dates.to_json().dump()));
  back.check("variable a");
  EXPECT_EQ(back.pattern, dates.pattern);
  EXPECT_EQ(back.text_of(back.largest()), "06.03.2024 08:00:00+01:00");
  EXPECT_STREQ(dates.called(), "date");
  dates.pattern = "%T";
  EXPECT_STREQ(dates.called(), "time of day");
  dates.pattern = "%D days %T";
  EXPECT_STREQ(dates.called(), "duration");
}

TEST(Bins, SayHowFarOutsideAValueLies) {
  EXPECT_EQ(ages().distance(90), "10 above");
  EXPECT_EQ(ages().distance(19.5), "0.5 below");
  const Bins days{Unit::day, {0, 86'400}};
  EXPECT_EQ(days.distance(-86'400), "1 day below");
  EXPECT_EQ(days.distance(seconds("1970-02-01")), "30 days above");
}

TEST(Bins, OfADamagedFileAreRefused) {
  const auto error = [](const std::string& text) {
    return input_error([&] { Bins::from_json(nlohmann::json::parse(text)).check("variable a"); });
  };
  EXPECT_EQ(error(R"({"unit": "mile", "edges": [0, 1], "decimals": 0})"),
            "unknown bin unit 'mile'; number, day, minute or second was expected");
  EXPECT_EQ(error(R"({"unit": "number", "edges": [0], "decimals": 0})"),
            "variable a: bins with 1 edges, at least 2 were expected");
  EXPECT_EQ(error(R"({"unit": "number", "edges": [0, 2, 2, 3], "decimals": 0})"),
            "variable a: a bin edge is 2 after 2, a larger one was expected");
  EXPECT_EQ(error(R"({"unit": "number", "edges": [0, "x"], "decimals": 0})"),
            "a bin edge is of type string, a number was expected");
  EXPECT_EQ(error(R"({"unit": "number", "edges": [0, 1], "decimals": 16})"),
            "variable a: numeric bins with 16 decimals, 0 to 15 were expected");
  EXPECT_EQ(error(R"({"unit": "day", "edges": [0, 1], "pattern": "%Y-%"})"),
            "variable a: values are written as '%Y-%', a pattern of dates was expected");
  EXPECT_EQ(error(R"({"unit": "second", "edges": [0, 1], "decimals": 9})"),
            "variable a: dates with 9 digits after the point, 0 to 6 were expected");
  EXPECT_EQ(error(R"({"unit": "day", "edges": [0, 1e300]})"),
            "variable a: a bin edge is 1e+300, a date of the years 1 to 9999 was expected");
}

}  // namespace
}  // namespace segre::bins_test
