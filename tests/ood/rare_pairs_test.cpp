#include "segre/ood/rare_pairs.h"

#include "tests/support/reference.h"

namespace segre::rare_pairs_test {
namespace {

// 90 rows: labels 0 and 1 of the first two columns never pair, the third is 0 throughout or splits each group in three.
torch::Tensor training() {
  auto rows = torch::zeros({90, 3}, torch::kInt64);
  rows.slice(0, 45).select(1, 0).fill_(1);
  rows.slice(0, 45).select(1, 1).fill_(1);
  rows.select(1, 2).copy_(torch::arange(90) % 3);
  return rows;
}

TEST(RarePairs, APairThatTrainingNeverHadIsFoundAndDescribed) {
  const auto row = torch::tensor({0, 1, 2}, torch::kInt64);
  const auto pair = rarest_pair(row, training());
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->first, 0);
  EXPECT_EQ(pair->second, 1);
  EXPECT_EQ(pair->seen, 0);
  EXPECT_EQ(pair->expected, 22.5);
  const Space space = Space::table({{"kind", 2, {"old", "new"}}, {"size", 2, {"s", "m"}}, {"", 3, {}}});
  EXPECT_EQ(describe(*pair, space, row), "kind = old with size = m");
}

TEST(RarePairs, ARowAsAllOthersHasNone) {
  EXPECT_FALSE(rarest_pair(torch::tensor({0, 0, 2}, torch::kInt64), training()).has_value());
}

TEST(RarePairs, OneThatChanceExplainsIsNone) {
  // Three pairs, so exp(-expected) must be below 0.05 / 3: 4 of 16 rows are expected, 5 of 20 rows.
  const auto some = [](int64_t each) {
    return torch::cat({torch::zeros({each, 3}, torch::kInt64), torch::ones({each, 3}, torch::kInt64)});
  };
  auto row = torch::tensor({0, 1, 0}, torch::kInt64);
  EXPECT_FALSE(rarest_pair(row, some(8)).has_value());
  EXPECT_TRUE(rarest_pair(row, some(10)).has_value());
}

}  // namespace
}  // namespace segre::rare_pairs_test
