#include "segre/space/value_set.h"

#include <cmath>
#include <set>

#include "segre/space/moment.h"
#include "tests/support/support.h"

namespace segre::value_set_test {
namespace {

using Unit = Bins::Unit;

double seconds(const char* text) { return static_cast<double>(parse_moment(text)->seconds); }

// All values that draw_given gives at a place.
std::set<std::string> drawn(const Bins& bins, Bins::Place place, const ValueSet& values) {
  std::set<std::string> found;
  for (int k = 0; k < 1000; ++k) found.insert(draw_given(bins, place, {.values = values}, k / 1000.0));
  return found;
}

TEST(ValueSet, SpansThatTouchAreOne) {
  const ValueSet values({{5, 7}, {1, 3, true, false}, {3, 5}});
  ASSERT_EQ(values.spans().size(), 1U);
  EXPECT_TRUE(values.contains(1) && values.contains(3) && values.contains(7));
  EXPECT_FALSE(values.contains(0.999) || values.contains(7.001));
  EXPECT_EQ(ValueSet({{1, 3, true, false}, {3, 5, false, true}}).spans().size(), 2U) << "3 belongs to neither";
  EXPECT_TRUE(ValueSet({{3, 3, true, false}}).empty());
  EXPECT_TRUE(ValueSet({{4, 3}}).empty());
}

TEST(ValueSet, TheComplementHasWhatTheSetHasNot) {
  const ValueSet values({{1, 3, true, false}, {5, 5}});
  const ValueSet others = values.complement();
  for (const double x : {-1e300, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1e300})
    EXPECT_NE(values.contains(x), others.contains(x)) << x;
  EXPECT_TRUE(values.intersect(others).empty());
  EXPECT_TRUE(ValueSet().complement().contains(7));
  EXPECT_TRUE(ValueSet().complement().complement().empty());
  EXPECT_EQ(ValueSet({{1, 9}}).intersect(ValueSet({{4, 4}})).single(), 4.0);
}

// Whole numbers 10 to 29 in two intervals, of which 12 has a label of its own.
Bins numbers() { return {.edges = {10, 20, 29}, .are_levels = true, .own = {12}}; }

TEST(PlacePart, CountsTheValuesOfAnInterval) {
  const auto share = [](Bins::Place place, const ValueSet& values) {
    return PlacePart(numbers(), place, values).share();
  };
  EXPECT_DOUBLE_EQ(share({0, 0}, ValueSet({{11, 14}})), 3.0 / 9.0) << "11, 13 and 14 of 10 ... 19 without 12";
  EXPECT_DOUBLE_EQ(share({0, 0}, ValueSet({{11, 14, false, false}})), 1.0 / 9.0) << "13";
  EXPECT_DOUBLE_EQ(share({0, 0}, ValueSet({{10.5, 10.9}})), 0.0);
  EXPECT_DOUBLE_EQ(share({1, 0}, ValueSet({{28, 40}})), 0.2) << "28 and 29 of 20 ... 29, which has its end";
  EXPECT_DOUBLE_EQ(share({2, 0}, ValueSet({{12, 12}})), 1.0);
  EXPECT_DOUBLE_EQ(share({2, 0}, ValueSet({{13, 20}})), 0.0);
  EXPECT_DOUBLE_EQ(share({0, 0}, ValueSet({{12, 12}}).complement()), 1.0);
}

TEST(PlacePart, DrawsEveryValueOfTheSetAndNoOther) {
  using Texts = std::set<std::string>;
  EXPECT_EQ(drawn(numbers(), {0, 0}, ValueSet({{11, 14}})), (Texts{"11", "13", "14"}));
  EXPECT_EQ(drawn(numbers(), {0, 0}, ValueSet({{11, 14, false, false}, {18, 18}})), (Texts{"13", "18"}));
  EXPECT_EQ(drawn(numbers(), {1, 0}, ValueSet({{28, INFINITY}})), (Texts{"28", "29"}));
  EXPECT_EQ(drawn(numbers(), {0, 0}, ValueSet({{25, 27}})), (Texts{"25"})) << "the nearest, where there is none";
  // Steps of 5 hundredths, and ends that float64 cannot hold.
  const Bins prices{.edges = {0.1, 0.9}, .decimals = 2, .are_levels = true, .stride = 5};
  EXPECT_EQ(drawn(prices, {0, 0}, ValueSet({{0.3, 0.45}})), (Texts{"0.30", "0.35", "0.40", "0.45"}));
  EXPECT_EQ(drawn(prices, {0, 0}, ValueSet({{0.3, 0.45, false, false}})), (Texts{"0.35", "0.40"}));
}

TEST(PlacePart, OfDatesCountsDays) {
  const Bins days{.unit = Unit::day, .edges = {seconds("2020-01-01"), seconds("2020-01-11")}, .are_levels = true};
  const ValueSet values({{seconds("2020-01-03"), seconds("2020-01-05")}});
  EXPECT_DOUBLE_EQ(PlacePart(days, {0, 0}, values).share(), 3.0 / 11.0);
  EXPECT_EQ(drawn(days, {0, 0}, values), (std::set<std::string>{"2020-01-03", "2020-01-04", "2020-01-05"}));
}

TEST(PlacePart, WithoutAGridIsAShareOfTheWidth) {
  const Bins bins{.edges = {1.0, 3.0}, .decimals = Bins::kAnyDecimals, .are_levels = true};
  const ValueSet values({{-5, 1.25}, {2.0, 2.5}});
  EXPECT_DOUBLE_EQ(PlacePart(bins, {0, 0}, values).share(), 0.375);
  int low = 0;
  for (int k = 0; k < 999; ++k) {
    const double value = *bins.parse(draw_given(bins, {0, 0}, {.values = values}, k / 999.0));
    EXPECT_TRUE(values.contains(value) && value >= 1.0) << value;
    low += value < 1.5 ? 1 : 0;
  }
  EXPECT_EQ(low, 333) << "a third of what is left";
}

TEST(DrawGiven, KeepsAGivenValueWithItsDigits) {
  const auto text = [](const Bins& bins, double value) {
    return draw_given(bins, bins.place(value), {.values = ValueSet::of(value), .exact = value}, 0.7);
  };
  EXPECT_EQ(text(numbers(), 37), "37");
  EXPECT_EQ(text(numbers(), 14.25), "14.25");
  EXPECT_EQ(text({.edges = {0, 9}, .decimals = 2}, 1.5), "1.50");
  const Bins days{.unit = Unit::day, .edges = {seconds("2020-01-01"), seconds("2020-01-11")}};
  EXPECT_EQ(text(days, seconds("2020-01-05")), "2020-01-05");
  EXPECT_EQ(text(days, seconds("2020-01-05 13:30")), "2020-01-05 13:30");
}

}  // namespace
}  // namespace segre::value_set_test
