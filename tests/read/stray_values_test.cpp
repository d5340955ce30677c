#include "segre/read/stray_values.h"

#include <gtest/gtest.h>

namespace segre::stray_values_test {
namespace {

using Counts = std::map<int64_t, int64_t>;

const Counts kFive{{0, 1000}, {1, 1000}, {2, 500}, {3, 10}, {4, 1}};

Counts with(Counts counts, int64_t value, int64_t count) {
  counts[value] = count;
  return counts;
}

TEST(StrayValues, AreRareAndFarAboveAllOthers) {
  EXPECT_EQ(find_strays(with(kFive, 200, 1)), 200);
  EXPECT_EQ(find_strays(with(kFive, 200, 2)), 200) << "of 2513 values";
  EXPECT_EQ(find_strays(with(with(kFive, 200, 1), 201, 1)), 200) << "the smallest";
  EXPECT_EQ(find_strays({{0, 40}, {1, 9}, {100, 1}}), 100) << "one of fifty, and the only one";
}

TEST(StrayValues, AreNotWhatIsFrequent) {
  EXPECT_FALSE(find_strays(with(kFive, 255, 3))) << "more than one of a thousand";
  EXPECT_FALSE(find_strays({{0, 900'000}, {255, 1000}})) << "masks of black and white";
  EXPECT_FALSE(find_strays({{0, 1}, {65'534, 1}})) << "two pixels say nothing";
}

TEST(StrayValues, AreNotHonestGaps) {
  EXPECT_FALSE(find_strays(with(kFive, 20, 1))) << "sixteen labels more are no harm";
  EXPECT_EQ(find_strays(with(kFive, 21, 1)), 21);
  // Cityscapes' ids: 34 of them, some rare or absent.
  Counts ids;
  for (int64_t id = 4; id < 34; ++id)
    if (id != 14 && id != 29) ids[id] = id % 5 == 0 ? 1 : 10'000;
  EXPECT_FALSE(find_strays(ids));
  Counts many;
  for (int64_t id = 0; id < 183; ++id) many[id] = 10'000;
  EXPECT_FALSE(find_strays(with(many, 255, 1))) << "most labels occur";
}

TEST(StrayValues, NothingAndOneValueHaveNone) {
  EXPECT_FALSE(find_strays({}));
  EXPECT_FALSE(find_strays({{200, 1000}}));
}

TEST(StrayValues, AreDescribed) {
  EXPECT_EQ(describe_stray(with(kFive, 200, 1), 200),
            "occurs once in 2512 values and would make 201 labels, of which 195 never occur");
  EXPECT_EQ(describe_stray(with(kFive, 200, 2), 200),
            "occurs 2 times in 2513 values and would make 201 labels, of which 195 never occur");
}

}  // namespace
}  // namespace segre::stray_values_test
