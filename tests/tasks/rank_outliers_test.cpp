// Percentiles of odd rows, against counts made by hand.

#include "segre/tasks/rank_outliers.h"

#include "segre/data/split.h"
#include "tests/support/messages.h"
#include "tests/tasks/known_tree.h"

namespace segre::rank_outliers_test {
namespace {

// Sun is nearly always dry and rain wet.
class RankOutliers : public testing::Test {
 protected:
  // `count` rows: sun and dry, or sun and wet.
  static torch::Tensor rows(int64_t count, int64_t ground) {
    return torch::stack({torch::zeros({count}, torch::kInt64), torch::full({count}, ground, torch::kInt64)}, 1);
  }
  std::shared_ptr<DataSource> source(const torch::Tensor& labels) const {
    return make_dataset_source({.space = space_, .labels = labels});
  }

  Space space_ = Space::table({{"sky", 2, {"sun", "rain"}}, {"ground", 2, {"dry", "wet"}}});
  LoadedRun run_ = test::run_given_first(space_, torch::tensor({{0.98F, 0.02F}, {0.02F, 0.98F}}));
};

// Had the first held-out rows been taken, all would be ordinary: files are sorted, and held-out rows are in their
// order.
TEST_F(RankOutliers, PercentilesAreAmongHeldOutRowsChosenFromAllOfThem) {
  constexpr int64_t kOfAKind = 40;
  constexpr int64_t kTaken = 20;
  const auto held_out = torch::cat({rows(kOfAKind, 0), rows(kOfAKind, 1)});
  const auto chosen = chosen_rows(2 * kOfAKind, kTaken);
  const auto n_ordinary = (chosen < kOfAKind).sum().item<int64_t>();
  ASSERT_GT(n_ordinary, 3);
  ASSERT_LT(n_ordinary, kTaken - 3);
  const auto found = rank_outliers(run_, *source(rows(1, 1)), *source(torch::cat({rows(30, 0), rows(1, 1)})),
                                   {.calibration = kTaken, .held_out = held_out});
  EXPECT_TRUE(test::contains(found.account, "percentiles are among 20 held-out items")) << found.account;
  // Equal rows have equal scores, and only those that are lower count.
  EXPECT_DOUBLE_EQ(found.rows.percentile[0].item<double>(),
                   100.0 * static_cast<double>(n_ordinary) / static_cast<double>(kTaken + 1));
}

// One bar from beginning to end, whatever the stages of the work.
TEST_F(RankOutliers, ProgressIsOneCountThatOnlyRises) {
  std::vector<WorkProgress> all;
  const WorkCallbacks callbacks{.on_progress = [&](const WorkProgress& progress) { all.push_back(progress); }};
  const auto known = torch::cat({rows(30, 0), rows(1, 1)});
  rank_outliers(run_, *source(rows(3, 1)), *source(known), {.error = 0.01, .times = 1024}, callbacks);
  ASSERT_GT(all.size(), 3U);
  for (size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(all[k].what, "scoring");
    EXPECT_EQ(all[k].total, all[0].total);
    EXPECT_GE(all[k].done, all[std::max<size_t>(k, 1) - 1].done);
  }
  EXPECT_EQ(all.back().done, all.back().total);
}

}  // namespace
}  // namespace segre::rank_outliers_test
