#include "segre/data/origin.h"

#include <gtest/gtest.h>

namespace segre::origin_test {
namespace {

ItemNumbers numbers_of(const std::vector<int64_t>& values) {
  ItemNumbers numbers;
  for (const int64_t value : values) numbers.add(value);
  return numbers;
}

TEST(ItemNumbers, AreThoseAddedInAnyOrder) {
  const std::vector<int64_t> values{2, 3, 4, 7, 8, 1, 1, 2, 20};
  const ItemNumbers numbers = numbers_of(values);
  ASSERT_EQ(numbers.size(), static_cast<int64_t>(values.size()));
  for (size_t k = 0; k < values.size(); ++k) EXPECT_EQ(numbers[static_cast<int64_t>(k)], values[k]) << k;
  EXPECT_EQ(numbers.n_runs(), 5) << "2 3 4, 7 8, 1, 1 2, 20";
}

TEST(ItemNumbers, OneRunIsAllThatAMillionConsecutiveNumbersNeed) {
  ItemNumbers numbers;
  for (int64_t k = 0; k < 1'000'000; ++k) numbers.add(k + 2);
  EXPECT_EQ(numbers.n_runs(), 1);
  EXPECT_EQ(numbers[999'999], 1'000'001);
}

TEST(ItemNumbers, CountUpToAnythingAtOnce) {
  const ItemNumbers numbers = ItemNumbers::up_to(int64_t{1} << 40);
  EXPECT_EQ(numbers.size(), int64_t{1} << 40);
  EXPECT_EQ(numbers[123'456'789'012], 123'456'789'012);
  EXPECT_EQ(ItemNumbers::up_to(0).n_runs(), 0);
}

TEST(ItemNumbers, AreMadeOfTheirRuns) {
  const ItemNumbers numbers = numbers_of({2, 3, 4, 7, 8, 1});
  const ItemNumbers again(numbers.size(), numbers.runs());
  for (int64_t k = 0; k < numbers.size(); ++k) EXPECT_EQ(again[k], numbers[k]) << k;
}

TEST(Origin, NamesLinesItemsAndFiles) {
  EXPECT_EQ(Origin::lines("t.csv", numbers_of({2, 3, 17})).place(2), "t.csv:17");
  EXPECT_EQ(Origin::items("x.npy", numbers_of({0, 1, 5})).place(2), "x.npy: item 5");
  EXPECT_EQ(Origin::files({"a.png", "b/c.png"}).place(1), "b/c.png");
}

TEST(Origin, SaysNothingOfWhatItDoesNotKnow) {
  EXPECT_EQ(Origin().place(0), "");
  EXPECT_EQ(Origin::lines("t.csv", numbers_of({2})).place(1), "");
}

TEST(Origin, ChosenItemsKeepTheirPlaces) {
  const auto rows = torch::tensor({2, 0}, torch::kInt64);
  const Origin lines = Origin::lines("t.csv", numbers_of({2, 3, 17})).select(rows);
  EXPECT_EQ(lines.place(0), "t.csv:17");
  EXPECT_EQ(lines.place(1), "t.csv:2");
  EXPECT_EQ(lines.place(2), "");
  EXPECT_EQ(Origin::files({"a.png", "b.png", "c.png"}).select(rows).place(0), "c.png");
  EXPECT_EQ(Origin().select(rows).place(0), "");
}

}  // namespace
}  // namespace segre::origin_test
