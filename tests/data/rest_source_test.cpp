#include "segre/data/split.h"

#include "segre/io/mapped_rows.h"
#include "tests/support/datasets.h"
#include "tests/support/mapped.h"
#include "tests/support/messages.h"

// Items that are not in memory, and those left when some are held out.

namespace segre::rest_source_test {
namespace {

using test::input_error;
using test::mapped;

const Space kSpace = Space::image(2, 3, 5);
const RandomStream kRandom(3, Purpose::training_data);
constexpr int64_t kRows = 100;

Dataset some_rows(bool mirror) {
  Dataset dataset = test::numbered_rows(kSpace, kRows);
  dataset.mirror = mirror;
  ItemNumbers lines;
  for (int64_t r = 0; r < kRows; ++r) lines.add(r + 2 + r / 30);
  dataset.origin = Origin::lines("t.csv", std::move(lines));
  return dataset;
}

void expect_same_items(const DataSource& found, const DataSource& expected) {
  const int64_t n = expected.n_items();
  ASSERT_EQ(found.n_items(), n);
  EXPECT_TRUE(torch::equal(found.rows(0, n), expected.rows(0, n)));
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {5, 17}, {n - 1, 1}, {n - 3, 10}, {n, 2}})
    EXPECT_TRUE(torch::equal(found.rows(first, count), expected.rows(first, count))) << first;
  EXPECT_TRUE(torch::equal(found.items(kRandom, 7, 3 * n), expected.items(kRandom, 7, 3 * n)));
  const auto numbers = torch::tensor({n - 1, int64_t{0}, int64_t{3}, int64_t{3}}, torch::kInt64);
  EXPECT_TRUE(torch::equal(found.take(numbers), expected.take(numbers)));
  for (const int64_t item : {int64_t{-1}, int64_t{0}, n / 2, n - 1, n})
    EXPECT_EQ(found.place(item), expected.place(item));
  EXPECT_EQ(found.has_unknowns(), expected.has_unknowns());
  EXPECT_EQ(found.mirrors(), expected.mirrors());
  EXPECT_EQ(found.is_stored(), expected.is_stored());
  EXPECT_TRUE(torch::equal(all_labels(found).to(torch::kInt64), expected.rows(0, n)));
}

TEST(MappedSource, HasTheItemsOfTheOneInMemory) {
  for (const bool mirror : {false, true}) {
    const auto source = make_dataset_source(mapped(some_rows(mirror)));
    EXPECT_TRUE(is_mapped(source->dataset()->labels)) << "not copied";
    expect_same_items(*source, *make_dataset_source(some_rows(mirror)));
    EXPECT_TRUE(torch::equal(chosen_items(*source, 23), chosen_items(*make_dataset_source(some_rows(mirror)), 23)));
  }
}

TEST(MappedSource, OfAWiderTypeIsNarrowed) {
  Dataset dataset = some_rows(false);
  dataset.labels = mapped(dataset.labels.to(torch::kInt64));
  const auto source = make_dataset_source(dataset);
  EXPECT_EQ(source->dataset()->labels.scalar_type(), torch::kUInt8);
  expect_same_items(*source, *make_dataset_source(some_rows(false)));
}

TEST(MappedSource, IsCheckedLikeTheOneInMemory) {
  const auto message = [](const torch::Tensor& labels, Unknowns unknowns = Unknowns::refuse) {
    const auto in_memory = input_error([&] { make_dataset_source({kSpace, labels, false, {}, unknowns}); });
    EXPECT_EQ(input_error([&] { make_dataset_source({kSpace, mapped(labels), false, {}, unknowns}); }), in_memory);
    return in_memory;
  };
  auto labels = torch::zeros({4'000'000, 6}, torch::kUInt8);  // several parts
  labels[3'999'999][2] = 7;
  EXPECT_EQ(message(labels), "item 3999999, variable x3: label 7 where 0 to 4 was expected");
  EXPECT_EQ(message(torch::full({3, 6}, -1, torch::kInt16)),
            "item 0, variable x1: its label is not known, but complete items are needed here");
  EXPECT_TRUE(test::contains(message(torch::zeros({3, 5}, torch::kUInt8)), "found unsigned char of shape [3, 5]"));
}

// Items with unknown labels, among them item `kBad`.
constexpr int64_t kBad = 41;
Dataset with_unknown(const std::vector<int64_t>& items) {
  Dataset dataset = some_rows(false);
  dataset.labels = dataset.labels.to(torch::kInt16);
  for (const int64_t item : items) dataset.labels[item][4] = kUnknown;
  dataset.unknowns = Unknowns::allow;
  return dataset;
}

TEST(MappedSource, UnknownLabelsAreFoundAndNamed) {
  const auto source = make_dataset_source(mapped(with_unknown({kBad, 77})));
  EXPECT_TRUE(source->has_unknowns());
  const auto message = input_error([&] { require_complete(*source, "--data"); });
  EXPECT_TRUE(test::contains(message, "t.csv:44: x5 is unknown")) << message;
  const auto none = make_dataset_source(mapped(with_unknown({})));
  EXPECT_FALSE(none->has_unknowns());
  EXPECT_EQ(none->dataset()->labels.scalar_type(), torch::kUInt8);
}

TEST(RestSource, IsTheRestWithoutACopy) {
  for (const bool mirror : {false, true})
    for (const int64_t count : {0, 1, 23, 90}) {
      const std::shared_ptr<DataSource> whole = make_dataset_source(mapped(some_rows(mirror)));
      const auto rest = make_rest_source(whole, chosen_rows(kRows, count));
      expect_same_items(*rest, *make_dataset_source(split_off(some_rows(mirror), count).first));
      EXPECT_EQ(rest->dataset(), nullptr) << "its items are not one tensor";
    }
}

TEST(RestSource, LeavesOutTheFirstTheLastAndNeighbours) {
  const std::shared_ptr<DataSource> whole = make_dataset_source(mapped(some_rows(false)));
  const auto left_out = torch::tensor({0, 1, 2, 50, 98, 99}, torch::kInt64);
  const auto rest = make_rest_source(whole, left_out);
  std::vector<int64_t> kept;
  for (int64_t r = 3; r < 98; ++r)
    if (r != 50) kept.push_back(r);
  EXPECT_TRUE(torch::equal(rest->rows(0, 94), whole->take(torch::tensor(kept, torch::kInt64))));
  EXPECT_EQ(rest->place(0), whole->place(3));
  EXPECT_EQ(rest->place(93), whole->place(97));
}

TEST(RestSource, HasUnknownLabelsOnlyIfItsOwnItemsDo) {
  const auto chosen = chosen_rows(kRows, 23);
  const int64_t held_out = chosen[4].item<int64_t>();
  for (const auto& unknown : {std::vector<int64_t>{held_out}, {held_out, kBad}, {kBad}}) {
    const std::shared_ptr<DataSource> whole = make_dataset_source(mapped(with_unknown(unknown)));
    expect_same_items(*make_rest_source(whole, chosen), *make_dataset_source(split_off(*whole->dataset(), 23).first));
  }
}

TEST(RestSource, MovesToADeviceLikeAnyOther) {
  const std::shared_ptr<DataSource> whole = make_dataset_source(mapped(some_rows(true)));
  const auto rest = make_rest_source(whole, chosen_rows(kRows, 23));
  const auto labels = labels_on(*rest, torch::kCPU, 1 << 20);
  ASSERT_TRUE(labels.defined());
  EXPECT_EQ(labels.scalar_type(), torch::kUInt8);
  const auto rows = stream_rows(kRandom, 11, 90, rest->n_items(), rest->mirrors());
  EXPECT_TRUE(torch::equal(gather_items(rest->space(), rest->mirrors(), labels, rows), rest->items(kRandom, 11, 90)));
  EXPECT_FALSE(labels_on(*rest, torch::kCPU, 77 * 6).defined()) << "too large";
  EXPECT_TRUE(labels_on(*rest, torch::kCPU, 77 * 6 + 1).defined());
}

TEST(RestSource, KnowsTheRowsOfItsTable) {
  const std::shared_ptr<DataSource> whole = make_dataset_source(some_rows(false));
  const auto rest = make_rest_source(whole, torch::tensor({1, 2, 5}, torch::kInt64));
  EXPECT_EQ(file_rows_of(*rest, 4), (std::vector<int64_t>{0, 3, 4, 6}));
}

}  // namespace
}  // namespace segre::rest_source_test
