#include "segre/data/source_summary.h"

#include "segre/read/readers.h"
#include "segre/sources/toys.h"
#include "tests/support/support.h"

namespace segre::source_summary_test {
namespace {

TEST(Summary, ColumnsTellTheirCommonLabelAndWhatIsMissing) {
  const Space space = Space::table({{"pet", 3, {"cat", "dog", kMissingName}}, {"size", 2, {"big", "small"}}});
  const auto labels = torch::tensor({{1, 0}, {1, 1}, {2, 1}, {0, 1}}, torch::kUInt8);
  const auto summary = summarise(*make_dataset_source({space, labels}), 100);
  EXPECT_EQ(summary.n_items, 4);
  EXPECT_EQ(summary.n_seen, 4);
  EXPECT_EQ(summary.fewest_labels, 2);
  EXPECT_EQ(summary.most_labels, 3);
  EXPECT_EQ(summary.memory_bytes, 8);
  ASSERT_EQ(summary.columns.size(), 2U);
  EXPECT_EQ(summary.columns[0].common, "dog");
  EXPECT_DOUBLE_EQ(summary.columns[0].common_share, 0.5);
  EXPECT_DOUBLE_EQ(summary.columns[0].missing_share, 0.25);
  EXPECT_EQ(summary.columns[1].common, "small");
  EXPECT_DOUBLE_EQ(summary.columns[1].missing_share, 0.0);
  EXPECT_DOUBLE_EQ(summary.missing_share, 0.125);
  EXPECT_TRUE(summary.label_shares.empty());
}

TEST(Summary, SharesOfAnImagesLabelsAreOverAllPixels) {
  const Space space = Space::image(1, 4, 3);
  const auto labels = torch::tensor({{0, 0, 1, 0}, {2, 0, 0, 0}, {1, 1, 1, 1}}, torch::kUInt8);
  const auto summary = summarise(*make_dataset_source({space, labels}), 2);
  EXPECT_EQ(summary.n_seen, 2);
  EXPECT_EQ(summary.label_shares, (std::vector<double>{0.75, 0.125, 0.125}));
  EXPECT_TRUE(summary.columns.empty());
}

TEST(Summary, ASourceWithoutEndIsLookedAtAsFarAsAsked) {
  const auto summary = summarise(*make_joint_source(coupled_binary()), 500);
  EXPECT_EQ(summary.n_items, 0);
  EXPECT_EQ(summary.n_seen, 500);
  EXPECT_EQ(summary.memory_bytes, 0);
  EXPECT_EQ(summary.columns.size(), 2U);
}

TEST(Summary, WideTablesHaveNoListOfColumns) {
  const auto labels = torch::zeros({2, 51}, torch::kUInt8);
  const auto summary =
      summarise(*make_dataset_source({Space::table(std::vector<Variable>(51, Variable{"", 2, {}})), labels}), 10);
  EXPECT_TRUE(summary.columns.empty());
}

}  // namespace
}  // namespace segre::source_summary_test
