#include "segre/flow/row_blocks.h"

#include "tests/support/support.h"
#include "tests/support/thread_ranks.h"

namespace segre::shared_rows_test {
namespace {

using test::as_ranks;

TEST(SharedRows, OneRankHasAllAndCopiesNothing) {
  const SharedRows rows(one_rank(), 10, 4);
  EXPECT_EQ(rows.own().from, 0);
  EXPECT_EQ(rows.own().to, 10);
  const auto x = test::noise({10});
  EXPECT_TRUE(rows.gather(x).is_same(x));
}

TEST(SharedRows, EveryCutIsBetweenTwoBlocks) {
  for (const int size : {2, 3, 5})
    for (const int64_t count : {0, 1, 4, 9, 100})
      as_ranks(size, [&](const auto& ranks) {
        const SharedRows rows(ranks, count, 4);
        EXPECT_EQ(rows.own().from % 4 == 0 || rows.own().from == count, true);
        const auto all = rows.gather(torch::arange(rows.own().from, rows.own().to));
        EXPECT_TRUE(torch::equal(all, torch::arange(count))) << size << " ranks, " << count;
      });
}

TEST(SharedRows, NumbersOfAllTypesArriveUnchanged) {
  for (const auto type : {torch::kFloat64, torch::kFloat32, torch::kInt64, torch::kInt16, torch::kUInt8, torch::kBool})
    as_ranks(3, [&](const auto& ranks) {
      const auto whole = (100.0 * test::noise({7, 2, 3})).abs().to(type);
      const SharedRows rows(ranks, 7, 2);
      EXPECT_TRUE(torch::equal(rows.gather(whole.slice(0, rows.own().from, rows.own().to)), whole)) << type;
    });
}

TEST(SharedRows, LabelsKeepTheirMarks) {
  const Space space = test::mixed_space();
  const auto whole =
      torch::tensor({{0, 2, 4, -1, 6}, {1, 0, -1, 2, 0}, {1, 1, 1, 1, 1}}, torch::kInt64);  // -1: kUnknown
  as_ranks(2, [&](const auto& ranks) {
    const SharedRows rows(ranks, 3);
    EXPECT_TRUE(torch::equal(rows.gather_labels(space, whole.slice(0, rows.own().from, rows.own().to)), whole));
  });
}

}  // namespace
}  // namespace segre::shared_rows_test
