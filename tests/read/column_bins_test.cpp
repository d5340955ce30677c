#include "segre/read/column_bins.h"

#include <numeric>

#include "tests/support/support.h"

namespace segre::column_bins_test {
namespace {

using Edges = std::vector<double>;

Bins bins_of(const ValueScale& scale, Edges values, int64_t most) { return quantile_bins(scale, values, most); }

ValueScale scale_of(const std::vector<std::string>& texts) {
  ValueScale scale;
  for (const auto& text : texts) EXPECT_TRUE(scale.add(text)) << text;
  return scale;
}

TEST(ValueScale, KeepsTheMostDecimalsAndTheFinestUnit) {
  EXPECT_EQ(scale_of({"1", "2.50", "3"}).with_edges({}).decimals, 1);
  EXPECT_EQ(scale_of({"20.0", "3.0"}).with_edges({}).decimals, 0) << "whole numbers, however they are written";
  EXPECT_EQ(scale_of({"0.3333333333333333", "1.5"}).with_edges({}).decimals, Bins::kAnyDecimals);
  EXPECT_EQ(scale_of({"2020-01-01", "2020-01-02"}).with_edges({}).unit, Bins::Unit::day);
  EXPECT_EQ(scale_of({"2020-01-01", "2020-01-02 12:00"}).with_edges({}).unit, Bins::Unit::minute);
  EXPECT_EQ(scale_of({"2020-01-01 12:00:01", "2020-01-02"}).with_edges({}).unit, Bins::Unit::second);
}

TEST(ValueScale, IsOfNumbersOrOfDatesAndOfNothingElse) {
  ValueScale numbers = scale_of({"1"});
  EXPECT_FALSE(numbers.add("2020-01-01"));
  EXPECT_FALSE(numbers.add("one"));
  EXPECT_FALSE(numbers.is_date());
  ValueScale dates = scale_of({"2020-01-01"});
  EXPECT_FALSE(dates.add("1"));
  EXPECT_TRUE(dates.is_date());
}

TEST(ValueScale, FindsThePatternOfDates) {
  const auto pattern = [](const std::vector<std::string>& texts) { return scale_of(texts).with_edges({}).pattern; };
  EXPECT_EQ(pattern({"2020-01-01", "2020-01-02 12:00"}), "") << "as usual";
  EXPECT_EQ(pattern({"2020-01-01T12:00:00", "2020-01-02T13:00:00"}), "%Y-%m-%dT%T");
  EXPECT_EQ(pattern({"2020-01-01 12:00:00+01:00", "2020-07-02 12:00:00+02:00"}), "%Y-%m-%d %T+01:00") << "the first";
  EXPECT_EQ(pattern({"05.03.2024", "31.12.2024"}), "%d.%m.%Y");
  EXPECT_EQ(pattern({"5.3.2024", "31.12.2024"}), "%-d.%-m.%Y");
  EXPECT_EQ(pattern({"03/05/2024", "03/25/2024"}), "%m/%d/%Y");
  EXPECT_EQ(pattern({"03/05/2024", "25/03/2024"}), "%d/%m/%Y");
  EXPECT_EQ(pattern({"3/5/2024 7:08", "3/25/2024 12:30"}), "%-m/%-d/%Y %T");
  EXPECT_EQ(pattern({"07:08", "12:30:15"}), "%T");
  EXPECT_EQ(pattern({"1 days", "2 days 03:04:05"}), "%D days %T");
}

TEST(ValueScale, ReadsADateOnceItsPatternIsKnown) {
  ValueScale scale;
  scale.add("03/05/2024");
  EXPECT_TRUE(scale.is_ambiguous());
  scale.add("03/25/2024");
  EXPECT_FALSE(scale.is_ambiguous());
  EXPECT_EQ(scale.add("03/05/2024"), scale_of({"2024-03-05"}).add("2024-03-05"));
  EXPECT_FALSE(scale.add("25/03/2024")) << "not both";
}

TEST(ValueScale, IsOfOnePattern) {
  EXPECT_FALSE(scale_of({"2020-01-01"}).add("01.01.2020"));
  EXPECT_FALSE(scale_of({"2020-01-01 12:00"}).add("2020-01-01 12:00Z")) << "all have an offset or none has";
  EXPECT_FALSE(scale_of({"12:00"}).add("2020-01-01"));
  EXPECT_FALSE(scale_of({"1 days"}).add("12:00"));
}

TEST(ValueScale, MomentsOfAnOffsetAreOfUtc) {
  ValueScale scale;
  const auto first = scale.add("2020-01-01 12:00:00+01:00");
  EXPECT_EQ(scale.add("2020-01-01 13:00:00+02:00"), first);
  EXPECT_EQ(first, scale_of({"2020-01-01 11:00"}).add("2020-01-01 11:00"));
}

TEST(QuantileBins, HoldAsManyValuesEach) {
  Edges values(100);
  std::iota(values.rbegin(), values.rend(), 0.0);
  const auto bins = bins_of(scale_of({"0"}), values, 4);
  EXPECT_EQ(bins.edges, (Edges{0, 25, 50, 75, 99}));
  std::vector<int> held(4);
  for (const double value : values) ++held[bins.find(value)];
  EXPECT_EQ(held, (std::vector<int>{25, 25, 25, 25}));
  EXPECT_EQ(bins_of(scale_of({"0"}), {1, 2, 3, 4, 5}, 2).edges, (Edges{1, 3, 5}));
}

TEST(QuantileBins, AreFewerWhereValuesAreTied) {
  EXPECT_EQ(bins_of(scale_of({"0"}), {0, 0, 0, 0, 0, 0, 7, 9}, 4).edges, (Edges{0, 7, 9}));
  EXPECT_EQ(bins_of(scale_of({"0"}), {0, 0, 0, 1, 1, 1}, 2).edges, (Edges{0, 1, 1})) << "the last is a point";
  EXPECT_EQ(bins_of(scale_of({"0"}), {5, 5, 5}, 8).edges, (Edges{5, 5})) << "a constant is one bin";
  EXPECT_EQ(bins_of(scale_of({"0"}), {1, 2, 3}, 65'535).edges, (Edges{1, 2, 3, 3})) << "no more than there are values";
}

}  // namespace
}  // namespace segre::column_bins_test
