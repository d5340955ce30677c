#include "segre/ood/rare_pairs.h"

#include <cmath>
#include <tuple>

#include "tests/support/reference.h"

namespace segre::rare_pairs_test {
namespace {

std::optional<RarePair> rarest_pair(const torch::Tensor& row, const torch::Tensor& train) {
  return rarest_pairs(row.unsqueeze(0), train).front();
}

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

// Counted by matrix products, row by row, in as many training rows as do not fill the last word of bits.
TEST(RarePairs, EveryRowHasThePairThatCountingFinds) {
  const auto train = torch::randint(4, {701, 6}, torch::kInt64);
  train.select(1, 3).copy_((train.select(1, 0) + train.select(1, 5) / 3) % 4);
  train.select(1, 4).copy_(train.select(1, 1) / 2);
  const auto rows = torch::randint(4, {50, 6}, torch::kInt64);
  const auto found = rarest_pairs(rows, train);
  ASSERT_EQ(found.size(), 50U);
  int n_found = 0;
  for (int64_t k = 0; k < 50; ++k) {
    const auto same = (train == rows[k]).to(torch::kFloat64);
    const auto together = same.t().mm(same);
    double most = std::log(15.0 / 0.05);
    std::optional<RarePair> expected;
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = i + 1; j < 6; ++j) {
        const double mean = together[i][i].item<double>() * together[j][j].item<double>() / 701.0;
        const auto seen = together[i][j].item<double>();
        const double half_deviance = mean - seen + (seen > 0.0 ? seen * std::log(seen / mean) : 0.0);
        if (seen >= mean || half_deviance <= most) continue;
        most = half_deviance;
        expected = RarePair{i, j, static_cast<int64_t>(seen), mean};
      }
    const auto& pair = found[static_cast<size_t>(k)];
    ASSERT_EQ(pair.has_value(), expected.has_value()) << k;
    if (!pair) continue;
    ++n_found;
    EXPECT_EQ(std::tuple(pair->first, pair->second, pair->seen),
              std::tuple(expected->first, expected->second, expected->seen));
    EXPECT_DOUBLE_EQ(pair->expected, expected->expected);
  }
  EXPECT_GT(n_found, 10);
}

}  // namespace
}  // namespace segre::rare_pairs_test
