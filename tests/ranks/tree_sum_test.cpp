#include "segre/ranks/tree_sum.h"

#include "tests/support/support.h"
#include "tests/support/thread_ranks.h"

namespace segre::tree_sum_test {
namespace {

constexpr int64_t kLeaves = 8;
constexpr int64_t kLength = 101;

// Numbers whose sum depends on the order of additions.
std::vector<torch::Tensor> leaves() {
  std::vector<torch::Tensor> out;
  for (int64_t k = 0; k < kLeaves; ++k) out.push_back(test::noise({kLength}, k + 1, torch::kFloat32));
  return out;
}

// The tree, written out.
torch::Tensor expected() {
  const auto x = leaves();
  return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

std::vector<TreeNode> nodes_of(const Rows& rows) {
  const auto all = leaves();
  std::vector<TreeNode> nodes;
  for (int64_t k = rows.from; k < rows.to; ++k) nodes.push_back({0, k, {all[k]}});
  return nodes;
}

std::vector<int64_t> cuts_for(int size) {
  std::vector<int64_t> cuts;
  for (int k = 0; k <= size; ++k) cuts.push_back(kLength * k / size);
  return cuts;
}

TEST(TreeSum, BitsDoNotDependOnTheNumberOfRanks) {
  for (int size = 1; size <= kLeaves; ++size)
    test::as_ranks(size, [&](const auto& ranks) {
      TreeSum tree(ranks, kLeaves, cuts_for(size), torch::kFloat32);
      const auto sum = tree.reduce(merge_nodes(nodes_of(TreeSum::leaves_of(*ranks, kLeaves))));
      const auto [from, to] = tree.own();
      EXPECT_TRUE(torch::equal(sum.slice(0, from, to), expected().slice(0, from, to))) << size << " ranks";
      tree.spread(sum);
      EXPECT_TRUE(torch::equal(sum, expected())) << size << " ranks";
    });
}

TEST(TreeSum, EverySegmentHasOneOwner) {
  for (int size = 1; size <= kLeaves; ++size)
    test::as_ranks(size, [&](const auto& ranks) {
      const TreeSum tree(ranks, kLeaves, cuts_for(size), torch::kFloat32);
      auto owners = torch::zeros({kLength}, torch::kInt64);
      owners.slice(0, tree.own().from, tree.own().to).fill_(1);
      ranks->sum(owners);
      EXPECT_TRUE(torch::equal(owners, torch::ones({kLength}, torch::kInt64))) << size << " ranks";
    });
}

TEST(TreeSum, NodesMergeOnlyWithTheirSiblings) {
  const auto merged = merge_nodes(nodes_of({1, 6}));  // 1 | 2 3 | 4 5
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0].level, 0);
  EXPECT_EQ(merged[0].index, 1);
  EXPECT_EQ(merged[1].level, 1);
  EXPECT_EQ(merged[1].index, 1);
  EXPECT_EQ(merged[2].level, 1);
  EXPECT_EQ(merged[2].index, 2);
  const auto x = leaves();
  EXPECT_TRUE(torch::equal(merged[1].sum[0], x[2] + x[3]));
}

// As those of two biases that are added to the same tensor.
TEST(TreeSum, GradientsThatShareMemoryAreAddedOnce) {
  std::vector<TreeNode> nodes;
  for (int64_t k = 0; k < 4; ++k) {
    const auto shared = torch::full({3}, static_cast<float>(k + 1));
    const auto both = torch::full({2, 2}, static_cast<float>(10 * (k + 1)));
    nodes.push_back({0, k, {shared, shared, both[0], both[1]}});
  }
  const auto sum = merge_nodes(std::move(nodes)).front().sum;
  for (const size_t k : {0, 1}) EXPECT_TRUE(torch::equal(sum[k], torch::full({3}, 10.0f))) << sum[k];
  for (const size_t k : {2, 3}) EXPECT_TRUE(torch::equal(sum[k], torch::full({2}, 100.0f))) << sum[k];
}

TEST(TreeSum, WhatNoLeafHasStaysUndefined) {
  const auto merged = merge_nodes({{0, 0, {torch::ones({2}), {}}}, {0, 1, {torch::ones({2}), {}}}});
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_EQ(merged[0].sum[0].sum().item<double>(), 4.0);
  EXPECT_FALSE(merged[0].sum[1].defined());
}

}  // namespace
}  // namespace segre::tree_sum_test
