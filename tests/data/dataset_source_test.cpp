#include <cmath>

#include "tests/support/datasets.h"

// Sources of items in memory.

namespace segre::dataset_source_test {
namespace {

using test::input_error;
using test::numbered_rows;

const Space kSpace = Space::image(2, 3, 5);
const RandomStream kRandom(3, Purpose::training_data);
constexpr int64_t kRows = 37;

// Rows in lexical order, the order of numbered_rows.
torch::Tensor sorted(const torch::Tensor& items) {
  const auto weight = torch::tensor({3125, 625, 125, 25, 5, 1}, torch::kInt64);
  return items.index_select(0, (items * weight).sum(1).argsort());
}

TEST(DatasetSource, RowsAreThoseOfTheDatasetInTheirOrder) {
  const auto dataset = numbered_rows(kSpace, kRows);
  const auto source = make_dataset_source(dataset);
  EXPECT_EQ(source->n_items(), kRows);
  EXPECT_EQ(source->joint(), nullptr);
  EXPECT_EQ(source->dataset()->labels.data_ptr(), dataset.labels.data_ptr());  // no copy
  EXPECT_EQ(source->rows(0, 1).scalar_type(), torch::kInt64);
  EXPECT_TRUE(torch::equal(source->rows(5, 7), dataset.labels.slice(0, 5, 12).to(torch::kInt64)));
}

TEST(DatasetSource, EveryEpochHasEachRowOnceWhateverTheBatch) {
  const auto source = make_dataset_source(numbered_rows(kSpace, kRows));
  const auto rows = source->rows(0, kRows);
  for (const int64_t batch : {1, 5, 37, 50}) {
    std::vector<torch::Tensor> parts;
    for (int64_t first = 0; first < 3 * kRows; first += batch)
      parts.push_back(source->items(kRandom, static_cast<uint64_t>(first), batch));
    const auto stream = torch::cat(parts);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto items = stream.slice(0, epoch * kRows, (epoch + 1) * kRows);
      EXPECT_TRUE(torch::equal(sorted(items), rows)) << "batch " << batch << ", epoch " << epoch;
      EXPECT_FALSE(torch::equal(items, rows)) << "batch " << batch << ", epoch " << epoch;
    }
    EXPECT_FALSE(torch::equal(stream.slice(0, 0, kRows), stream.slice(0, kRows, 2 * kRows)));
  }
}

TEST(DatasetSource, AnItemIsAFunctionOfItsNumber) {
  for (const bool mirror : {false, true}) {
    auto dataset = numbered_rows(kSpace, kRows);
    dataset.mirror = mirror;
    const auto source = make_dataset_source(dataset);
    const auto whole = source->items(kRandom, 0, 100);
    EXPECT_TRUE(torch::equal(torch::cat({source->items(kRandom, 0, 13), source->items(kRandom, 13, 87)}), whole));
    EXPECT_TRUE(torch::equal(source->items(kRandom, 36, 2), whole.slice(0, 36, 38)));  // across two epochs
    EXPECT_FALSE(torch::equal(source->items({4, Purpose::training_data}, 0, 100), whole));
  }
}

TEST(DatasetSource, MirrorTurnsHalfOfTheImagesLeftToRightAndNothingElse) {
  auto dataset = numbered_rows(kSpace, 5);         // one pixel in the corner
  dataset.labels = dataset.labels.slice(0, 1, 5);  // without the empty image, which is its own mirror image
  const auto plain = make_dataset_source(dataset);
  dataset.mirror = true;
  const auto source = make_dataset_source(dataset);
  constexpr int64_t kItems = 2000;
  const auto items = source->items(kRandom, 0, kItems);
  const auto straight = plain->items(kRandom, 0, kItems);
  const auto flipped = straight.view({-1, 2, 3}).flip({2}).view({-1, 6});
  const auto is_straight = (items == straight).all(1);
  const auto is_flipped = (items == flipped).all(1);
  EXPECT_TRUE((is_straight.logical_xor(is_flipped)).all().item<bool>());
  const double share = is_flipped.to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(share, 0.5, 5.0 * 0.5 / std::sqrt(kItems));  // five standard deviations
  // Which ones are mirrored does not repeat from epoch to epoch.
  const auto by_epoch = is_flipped.view({-1, 4});
  EXPECT_FALSE(torch::equal(by_epoch.slice(0, 0, 100), by_epoch.slice(0, 100, 200)));
  // Rows in their own order are never mirrored.
  EXPECT_TRUE(torch::equal(source->rows(0, 4), plain->rows(0, 4)));
}

TEST(DatasetSource, StreamRowsAndGatherGiveTheItems) {
  for (const bool mirror : {false, true}) {
    auto dataset = numbered_rows(kSpace, kRows);
    dataset.mirror = mirror;
    const auto rows = stream_rows(kRandom, 11, 90, kRows, mirror);
    EXPECT_EQ((rows < 0).any().item<bool>(), mirror);
    EXPECT_TRUE(torch::equal(gather_items(dataset, dataset.labels, rows),
                             make_dataset_source(dataset)->items(kRandom, 11, 90)));
  }
}

TEST(DatasetSource, ManyLabelsAreKeptInLongerNumbers) {
  EXPECT_EQ(label_type(Space::sequence(2, 256)), torch::kUInt8);
  const Space space = Space::sequence(2, 257);
  EXPECT_EQ(label_type(space), torch::kInt32);
  const auto source = make_dataset_source(numbered_rows(space, 300));
  EXPECT_EQ(source->dataset()->labels.scalar_type(), torch::kInt32);
  const auto items = source->items(kRandom, 0, 300);
  EXPECT_EQ(items.scalar_type(), torch::kInt64);
  EXPECT_EQ(items.max().item<int64_t>(), 256);
  EXPECT_EQ(source->rows(256, 1)[0][1].item<int64_t>(), 256);
}

TEST(DatasetSource, ItemsOfAProgramAreCheckedAndShortened) {
  const Space space = Space::table({{"sky", 3, {}}, {"street", 2, {}}});
  const auto items = torch::tensor({{2, 1}, {0, 0}, {1, 0}}, torch::kInt64);
  for (const auto type : {torch::kInt64, torch::kInt32, torch::kInt16, torch::kUInt8}) {
    const auto source = make_dataset_source({space, items.to(type)});
    EXPECT_EQ(source->dataset()->labels.scalar_type(), torch::kUInt8);
    EXPECT_TRUE(torch::equal(source->rows(0, 3), items));
  }
  // Columns of a transposed table.
  EXPECT_TRUE(torch::equal(make_dataset_source({space, items.t().contiguous().t()})->rows(0, 3), items));
}

TEST(DatasetSource, ALabelOutsideTheSpaceIsRefusedWithItsPlace) {
  const Space space = Space::table({{"sky", 3, {}}, {"street", 2, {}}});
  for (const auto type : {torch::kUInt8, torch::kInt64})
    EXPECT_EQ(input_error([&] {
                make_dataset_source({space, torch::tensor({{2, 1}, {7, 0}}, type)});
              }),
              "item 1, variable sky: label 7 where 0 to 2 was expected");
  EXPECT_EQ(input_error([&] {
              make_dataset_source({space, torch::tensor({{2, -1}}, torch::kInt32)});
            }),
            "item 0, variable street: its label is not known, but complete items are needed here");
}

TEST(DatasetSource, WhatIsNoDatasetIsRefused) {
  const Space space = Space::table({{"sky", 3, {}}, {"street", 2, {}}});
  EXPECT_EQ(input_error([&] {
              make_dataset_source({space, {}});
            }),
            "labels must be integers of shape [items, 2], found no tensor");
  EXPECT_EQ(input_error([&] {
              make_dataset_source({space, torch::zeros({4, 2})});
            }),
            "labels must be integers of shape [items, 2], found float of shape [4, 2]");
  EXPECT_EQ(input_error([&] {
              make_dataset_source({space, torch::zeros({2, 4}, torch::kUInt8)});
            }),
            "labels must be integers of shape [items, 2], found unsigned char of shape [2, 4]");
  EXPECT_EQ(input_error([&] {
              make_dataset_source({space, torch::zeros({0, 2}, torch::kUInt8)});
            }),
            "a dataset of the table of 2 variables with 2 to 3 labels has no items");
  EXPECT_EQ(input_error([&] {
              make_dataset_source({space, torch::zeros({1, 2}, torch::kUInt8), /*mirror=*/true});
            }),
            "a dataset of the table of 2 variables with 2 to 3 labels cannot be mirrored, only images can");
}

}  // namespace
}  // namespace segre::dataset_source_test
