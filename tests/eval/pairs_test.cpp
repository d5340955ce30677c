#include "segre/eval/pairs.h"

#include <set>

#include "tests/support/reference.h"

namespace segre::pairs_test {
namespace {

std::set<std::pair<int64_t, int64_t>> listed(const PairFamily& pairs) {
  std::set<std::pair<int64_t, int64_t>> out;
  for (int64_t k = 0; k < pairs.first.numel(); ++k)
    out.emplace(pairs.first[k].item<int64_t>(), pairs.second[k].item<int64_t>());
  return out;
}

TEST(ChoosePairs, TakesAllWhereTheyAreFew) {
  const auto families = choose_pairs(test::mixed_space());
  ASSERT_EQ(families.size(), 1U);
  EXPECT_EQ(families[0].name, "all pairs");
  EXPECT_EQ(listed(families[0]).size(), 10U);
  EXPECT_TRUE(choose_pairs(test::binary_space(1)).empty());
}

TEST(ChoosePairs, TakesNeighboursRightAndBelowInImages) {
  const Space space = Space::image(20, 10, 2);
  const auto families = choose_pairs(space);
  ASSERT_EQ(families.size(), 2U);
  const auto neighbours = listed(families[0]);
  EXPECT_EQ(neighbours.size(), 20U * 9 + 19 * 10);
  EXPECT_EQ(families[0].n_there, 20 * 9 + 19 * 10);
  for (const auto& [i, j] : neighbours) EXPECT_TRUE((j == i + 1 && j % 10 != 0) || j == i + 10) << i << ' ' << j;
}

TEST(ChoosePairs, RandomPairsAreDifferentAndSpread) {
  const auto families = choose_pairs(Space::table(std::vector<Variable>(100, Variable{"", 3, {}})));
  ASSERT_EQ(families.size(), 1U);
  EXPECT_EQ(families[0].name, "random pairs");
  EXPECT_EQ(families[0].n_there, 100 * 99 / 2);
  const auto pairs = listed(families[0]);
  EXPECT_EQ(static_cast<int64_t>(pairs.size()), families[0].first.numel());
  std::set<int64_t> touched;
  for (const auto& [i, j] : pairs) {
    EXPECT_LT(i, j);
    EXPECT_LT(j, 100);
    touched.insert({i, j});
  }
  EXPECT_EQ(touched.size(), 100U);
}

TEST(ChoosePairs, ManyLabelsMakeFewerPairs) {
  const auto families = choose_pairs(Space::image(64, 64, 8));
  for (const PairFamily& pairs : families) EXPECT_EQ(pairs.first.numel(), (1 << 15) / 64) << pairs.name;
}

TEST(MergeRareLabels, KeepsTheCommonOnes) {
  const Space space = Space::table({{"a", 10, {}}, {"b", 2, {"no", "yes"}}});
  // Label 9 of a is the most common, then 8, ...; 0, 1 and 2 are the rarest.
  auto labels = torch::zeros({55, 2}, torch::kInt64);
  for (int64_t label = 0, at = 0; label < 10; ++label)
    for (int64_t k = 0; k <= label; ++k) labels[at++][0] = label;
  const MergedLabels merged = merge_rare_labels(space, labels);
  EXPECT_EQ(merged.space.n_labels(0), kMostPairLabels);
  EXPECT_EQ(merged.space.n_labels(1), 2);
  EXPECT_EQ(merged.space.label_name(0, 0), "9");
  EXPECT_EQ(merged.space.label_name(0, 7), "(any other)");
  EXPECT_EQ(merged.space.label_name(1, 1), "yes");
  const auto all = torch::stack({torch::arange(10), torch::arange(10).remainder(2)}, 1);
  EXPECT_EQ(test::labels_of(merged.apply(all).select(1, 0)), (std::vector<int64_t>{7, 7, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_TRUE(torch::equal(merged.apply(all).select(1, 1), all.select(1, 1)));
}

TEST(PairLabels, NumberBothLabels) {
  const Space space = test::mixed_space();
  const auto labels = test::some_labels(space, 30);
  const PairFamily pairs = choose_pairs(space).front();
  const Space cells = pair_space(space, pairs);
  const auto both = pair_labels(space, pairs, labels.to(torch::kUInt8)).to(torch::kInt64);
  check_labels(cells, both);
  for (int64_t k = 0; k < pairs.first.numel(); ++k) {
    const int64_t c = space.n_labels(pairs.second[k].item<int64_t>());
    EXPECT_TRUE(torch::equal(both.select(1, k).div(c, "floor"), labels.select(1, pairs.first[k].item<int64_t>())));
    EXPECT_TRUE(torch::equal(both.select(1, k).remainder(c), labels.select(1, pairs.second[k].item<int64_t>())));
  }
}

TEST(Dependence, IsTheDistanceToTheProductOfTheMargins) {
  const Space space = test::binary_space(2);
  const PairFamily pairs = choose_pairs(space).front();
  // (45, 5, 5, 45)/100 against (25, 25, 25, 25)/100.
  EXPECT_NEAR(dependence(space, pairs, torch::tensor({0.45, 0.05, 0.05, 0.45}, torch::kFloat64)), 0.4, 1e-12);
  EXPECT_NEAR(dependence(space, pairs, torch::tensor({0.06, 0.14, 0.24, 0.56}, torch::kFloat64)), 0.0, 1e-12);
}

}  // namespace
}  // namespace segre::pairs_test
