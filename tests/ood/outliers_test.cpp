#include "segre/ood/outliers.h"

#include <sstream>

#include "tests/support/messages.h"
#include "tests/support/reference.h"

namespace segre::outliers_test {
namespace {

using test::contains;

torch::Tensor doubles(const std::vector<double>& values) { return torch::tensor(values, torch::kFloat64); }

OddRows three_rows(const std::vector<double>& errors) {
  return {.space = Space::table({{"kind", 2, {"old", "new"}}, {"size, in m", 2, {"s", "m"}}}),
          .labels = torch::tensor({{0, 0}, {1, 0}, {1, 1}}, torch::kInt64),
          .places = {"t.csv:2", "t.csv:3", ""},
          .score = doubles({-1.5, 4.25, 0.5}),
          .std_error = doubles(errors),
          .percentile = doubles({20.0, 100.0, 62.5}),
          .variable = torch::tensor({0, 1, 0}, torch::kInt64),
          .nats = doubles({1.0, 6.0, 2.0}),
          .nats_error = doubles({0.5, 0.25, 0.5}),
          .independent = doubles({2.5, 1.75, 1.5}),
          .pairs = {std::nullopt, RarePair{0, 1, 0, 10.25}, std::nullopt},
          .n_paired = 40};
}

TEST(Outliers, PercentilesCountTheTrainingItemsThatScoreLower) {
  const auto found = percentiles_among(doubles({0.0, 2.0, 2.5, 9.0}), doubles({3.0, 2.0, 1.0, 2.0}));
  EXPECT_EQ(test::values_of(found), (std::vector<double>{0.0, 20.0, 60.0, 80.0})) << "the item itself counts, too";
}

TEST(Outliers, EqualScoresKeepTheirOrder) {
  EXPECT_EQ(test::labels_of(oddest_first(doubles({1.0, 3.0, 1.0, 3.0}))), (std::vector<int64_t>{1, 3, 0, 2}));
}

TEST(Outliers, TheFileHasEveryRowWithItsOwnLabels) {
  std::ostringstream out;
  write_outliers_csv(out, three_rows({0.1, 0.125, 0.1}));
  EXPECT_EQ(out.str(),
            "rank,item,place,score,std_error,percentile,column,pair,pair_seen,pair_expected,nats,nats_error,"
            "independent,outside,kind,\"size, in m\"\n"
            "1,1,t.csv:3,4.25,0.125,100,\"size, in m\",\"kind = new with size, in m = s\",0,10.25,6,0.25,1.75,,new,s\n"
            "2,2,,0.5,0.1,62.5,kind,,,,2,0.5,1.5,,new,m\n"
            "3,0,t.csv:2,-1.5,0.1,20,kind,,,,1,0.5,2.5,,old,s\n");
}

TEST(Outliers, AColumnOfTheTableKeepsItsNameAndOursIsChanged) {
  auto rows = three_rows({0.1, 0.125, 0.1});
  rows.space = Space::table({{"score", 2, {"old", "new"}}, {"segre_score", 2, {"s", "m"}}});
  std::ostringstream out;
  write_outliers_csv(out, rows);
  EXPECT_EQ(out.str().substr(0, out.str().find('\n')),
            "rank,item,place,segre_segre_score,std_error,percentile,column,pair,pair_seen,pair_expected,nats,"
            "nats_error,independent,outside,score,segre_score");
}

TEST(Outliers, TheTableHasTheFirstRowsWithTheirOddLabelsAndRarestPairs) {
  auto rows = three_rows({0.1, 0.125, 0.1});
  EXPECT_EQ(aligned(outliers_table(rows, 2)),
            "rank    where  score  std error  percentile       odd label  rarest pair (of 40 training rows)\n"
            "1     t.csv:3   4.25       0.12       100.0  size, in m = s  kind = new with size, in m = s: 0, 10 "
            "expected\n"
            "2      item 2   0.50       0.10        62.5      kind = new  \n");
  rows.pairs.clear();
  rows.variable = torch::Tensor();
  EXPECT_EQ(aligned(outliers_table(rows, 2)),
            "rank    where  score  std error  percentile\n"
            "1     t.csv:3   4.25       0.12       100.0\n"
            "2      item 2   0.50       0.10        62.5\n");
}

TEST(Outliers, RowsWithValuesFarOutsideTheRangeOfTrainingComeFirst) {
  auto rows = three_rows({0.1, 0.1, 0.1});
  rows.outside = {"size, in m = 1e9, not 1 to 3", "", ""};
  rows.beyond = doubles({1e9, 0.0, 0.0});
  rows.file_rows = {4, 5, 9};
  EXPECT_EQ(test::labels_of(oddest_first(rows)), (std::vector<int64_t>{0, 1, 2}));
  std::ostringstream out;
  write_outliers_csv(out, rows);
  const std::string text = out.str();
  EXPECT_TRUE(contains(text, "\n1,4,t.csv:2,-1.5,")) << text << "by its row in the file";
  EXPECT_TRUE(contains(text, ",\"size, in m = 1e9, not 1 to 3\",old,s\n2,5,")) << text;
  EXPECT_TRUE(contains(aligned(outliers_table(rows, 3)), "  size, in m = 1e9, not 1 to 3  "));
  EXPECT_EQ(outside_text(rows),
            "1 of 3 rows has values outside the range of training, which the model sees as the nearest interval; 1 of "
            "them by more than the width of that interval: ranked first, at percentile 100");
  EXPECT_EQ(outside_text(three_rows({0.1, 0.1, 0.1})), "");
  // The scores of the others, 4.25 and 0.5, spread by 2.65: noise of 1.88 each is half of its square.
  rows.std_error = doubles({9.0, 1.8, 1.8});
  EXPECT_EQ(order_warning(rows, 3), "");
  rows.std_error = doubles({0.0, 2.0, 2.0});
  EXPECT_TRUE(contains(order_warning(rows, 3), "of the first 2 rows is mostly chance"));
}

// Of n + 1 ordinary values one is the largest: a row with a value just beyond those of training is ranked by its score.
TEST(Outliers, RowsWithValuesJustOutsideTheRangeOfTrainingAreRankedLikeOthers) {
  auto rows = three_rows({0.1, 0.1, 0.1});
  rows.outside = {"size, in m = 4, not 1 to 3", "", "size, in m = 0, not 1 to 3"};
  rows.beyond = doubles({1.0, 0.0, 0.5});
  EXPECT_EQ(test::labels_of(oddest_first(rows)), (std::vector<int64_t>{1, 2, 0}));
  std::ostringstream out;
  write_outliers_csv(out, rows);
  EXPECT_TRUE(contains(out.str(), ",\"size, in m = 4, not 1 to 3\",old,s\n")) << "the file names them all";
  EXPECT_FALSE(contains(aligned(outliers_table(rows, 3)), "not 1 to 3")) << "what is odd is the label";
  EXPECT_EQ(outside_text(rows),
            "2 of 3 rows have values outside the range of training, which the model sees as the nearest interval");
  rows.beyond = doubles({1.001, 0.0, 0.5});
  EXPECT_EQ(test::labels_of(oddest_first(rows)), (std::vector<int64_t>{0, 1, 2}));
}

TEST(Outliers, RowsWithAPairThatTrainingNeverHadAreNamedWhereverTheyRank) {
  auto rows = three_rows({0.1, 0.1, 0.1});
  EXPECT_EQ(unseen_pairs_text(rows),
            "1 of 3 rows have a pair of labels that none of 40 training rows had, and not by chance: rank 1");
  rows.pairs[0] = RarePair{0, 1, 0, 12.0};
  rows.pairs[1]->seen = 1;
  EXPECT_EQ(unseen_pairs_text(rows),
            "1 of 3 rows have a pair of labels that none of 40 training rows had, and not by chance: rank 3");
  rows.pairs.clear();
  EXPECT_EQ(unseen_pairs_text(rows), "");
}

TEST(Outliers, AnOrderThatIsNoiseIsCalledSo) {
  EXPECT_EQ(order_warning(three_rows({0.1, 0.1, 0.1}), 3), "");
  // The scores' standard deviation is 2.92: noise of 2.06 each is half of its square, at which the warning begins.
  EXPECT_EQ(order_warning(three_rows({2.0, 2.0, 2.0}), 3), "");
  EXPECT_EQ(order_warning(three_rows({2.1, 2.1, 2.1}), 3),
            "The order of the first 3 rows is mostly chance: their scores spread by 2.92 (standard deviation), "
            "standard error 2.10 each; request a smaller error.");
  EXPECT_EQ(order_warning(three_rows({9.0, 9.0, 9.0}), 1), "") << "one row has no order";
  auto equal = three_rows({9.0, 9.0, 9.0});
  equal.labels = torch::zeros({3, 2}, torch::kInt64);
  EXPECT_EQ(order_warning(equal, 3), "") << "equal rows are one";
}

}  // namespace
}  // namespace segre::outliers_test
