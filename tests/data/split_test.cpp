#include "segre/data/split.h"
#include "segre/sources/source_kinds.h"

#include <algorithm>
#include <set>

#include "tests/support/datasets.h"

namespace segre::split_test {
namespace {

const Space kSpace = Space::image(2, 3, 5);

// The rows' numbers, see numbered_rows.
std::vector<int64_t> numbers_of(const Dataset& dataset) {
  std::vector<int64_t> out;
  for (int64_t r = 0; r < dataset.labels.size(0); ++r) {
    int64_t number = 0;
    for (int64_t k = 0; k < kSpace.n_variables(); ++k) number = 5 * number + dataset.labels[r][k].item<int64_t>();
    out.push_back(number);
  }
  return out;
}

TEST(Split, PartsAreDisjointAndTogetherTheWhole) {
  const auto [rest, taken] = split_off(test::numbered_rows(kSpace, 100), 23);
  EXPECT_EQ(rest.labels.size(0), 77);
  EXPECT_EQ(taken.labels.size(0), 23);
  const auto left = numbers_of(rest);
  const auto out = numbers_of(taken);
  std::set<int64_t> all(left.begin(), left.end());
  all.insert(out.begin(), out.end());
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(*all.rbegin(), 99);
}

TEST(Split, EachPartKeepsTheOrder) {
  const auto [rest, taken] = split_off(test::numbered_rows(kSpace, 100), 23);
  for (const auto& part : {numbers_of(rest), numbers_of(taken)}) EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
}

TEST(Split, IsTheSameEveryTimeAndNoHeadOrTail) {
  const auto dataset = test::numbered_rows(kSpace, 100);
  const auto taken = numbers_of(split_off(dataset, 23).second);
  EXPECT_EQ(numbers_of(split_off(dataset, 23).second), taken);
  EXPECT_LT(taken.front(), 50);  // by chance once in ten million times
  EXPECT_GE(taken.back(), 50);
}

// A larger validation set contains the smaller one, so runs with different sizes are comparable.
TEST(Split, ASmallerPartLiesInALargerOne) {
  const auto dataset = test::numbered_rows(kSpace, 100);
  const auto few = numbers_of(split_off(dataset, 10).second);
  const auto many = numbers_of(split_off(dataset, 40).second);
  EXPECT_TRUE(std::includes(many.begin(), many.end(), few.begin(), few.end()));
}

TEST(Split, ChosenItemsAreAllOrSomeOfTheWhole) {
  const auto dataset = test::numbered_rows(kSpace, 100);
  const auto source = make_dataset_source(dataset);
  EXPECT_TRUE(torch::equal(chosen_items(*source, 23), split_off(dataset, 23).second.labels.to(torch::kInt64)));
  EXPECT_TRUE(torch::equal(chosen_items(*source, 100), source->rows(0, 100)));
  EXPECT_TRUE(torch::equal(chosen_items(*source, 101), source->rows(0, 100)));
  const auto endless = open_source("coupled");
  EXPECT_TRUE(torch::equal(chosen_items(*endless, 7), endless->rows(0, 7)));
}

TEST(Split, ItemsRememberTheLinesTheyWereReadFrom) {
  auto dataset = test::numbered_rows(kSpace, 100);
  ItemNumbers lines;
  for (int64_t r = 0; r < 100; ++r) lines.add(r + 2);  // below a header
  dataset.origin = Origin::lines("t.csv", std::move(lines));
  const auto [rest, taken] = split_off(dataset, 23);
  for (const Dataset& part : {rest, taken}) {
    const auto numbers = numbers_of(part);
    for (size_t k = 0; k < numbers.size(); ++k)
      EXPECT_EQ(part.origin.place(static_cast<int64_t>(k)), concat("t.csv:", numbers[k] + 2));
  }
}

TEST(Split, ChosenRowsAreThoseTakenOut) {
  const auto rows = chosen_rows(100, 23);
  const auto taken = numbers_of(split_off(test::numbered_rows(kSpace, 100), 23).second);
  ASSERT_EQ(rows.numel(), 23);
  for (int64_t k = 0; k < 23; ++k) EXPECT_EQ(rows[k].item<int64_t>(), taken[static_cast<size_t>(k)]);
}

TEST(Split, PartsAreOfTheSameKind) {
  auto dataset = test::numbered_rows(kSpace, 20);
  dataset.mirror = true;
  const auto [rest, taken] = split_off(dataset, 0);
  EXPECT_TRUE(torch::equal(rest.labels, dataset.labels));
  EXPECT_EQ(taken.labels.size(0), 0);
  EXPECT_TRUE(rest.mirror);
  EXPECT_EQ(rest.labels.scalar_type(), torch::kUInt8);
  EXPECT_EQ(rest.space.item_shape(), kSpace.item_shape());
}

}  // namespace
}  // namespace segre::split_test
