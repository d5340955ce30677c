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
