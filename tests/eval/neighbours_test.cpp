#include "segre/eval/neighbours.h"

#include <algorithm>

#include "tests/support/reference.h"

namespace segre::neighbours_test {
namespace {

// All distances by loops, then sorted by distance and row.
Neighbours by_loops(const torch::Tensor& items, const torch::Tensor& among, int64_t k) {
  const auto x = items.to(torch::kInt64).contiguous();
  const auto y = among.to(torch::kInt64).contiguous();
  const int64_t n = x.size(1);
  Neighbours out{torch::empty({x.size(0), k}, torch::kInt64), torch::empty({x.size(0), k}, torch::kInt64)};
  for (int64_t b = 0; b < x.size(0); ++b) {
    std::vector<std::pair<int64_t, int64_t>> found;
    for (int64_t r = 0; r < y.size(0); ++r) {
      int64_t distance = 0;
      for (int64_t i = 0; i < n; ++i)
        distance += x.data_ptr<int64_t>()[b * n + i] != y.data_ptr<int64_t>()[r * n + i] ? 1 : 0;
      found.emplace_back(distance, r);
    }
    std::sort(found.begin(), found.end());
    for (int64_t j = 0; j < k; ++j) {
      out.distance[b][j] = found[j].first;
      out.row[b][j] = found[j].second;
    }
  }
  return out;
}

void expect_as_loops(const Space& space, int64_t B, int64_t N, int64_t k, torch::Device device) {
  const auto items = test::some_labels(space, B, 1);
  const auto among = test::some_labels(space, N, 2);
  const auto expected = by_loops(items, among, k);
  const auto found = nearest_items(space, items, among, k, device);
  EXPECT_TRUE(torch::equal(found.distance, expected.distance)) << space.describe();
  EXPECT_TRUE(torch::equal(found.row, expected.row)) << space.describe();
}

void expect_all_kinds(torch::Device device) {
  for (const int64_t k : {1, 4}) {
    expect_as_loops(Space::image(5, 6, 2), 20, 300, k, device);
    expect_as_loops(Space::image(4, 4, 5), 20, 300, k, device);
    expect_as_loops(test::mixed_space(), 20, 300, k, device);
    expect_as_loops(test::space_of({200, 90, 150}), 20, 300, k, device);  // compares labels instead of indicators
  }
}

TEST(NearestItems, AreThoseFoundByLoops) { expect_all_kinds(torch::kCPU); }

TEST(NearestItems, AreThoseFoundByLoops_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  expect_all_kinds(torch::kCUDA);
}

TEST(NearestItems, AreTheFirstOfEqualsAlsoAcrossBlocks) {
  // 32 different items among 9000: the five nearest of each are its earliest copies, from several blocks if they are
  // rare.
  const Space space = test::binary_space(5);
  expect_as_loops(space, 8, 9000, 5, torch::kCPU);
  auto among = torch::zeros({9000, 5}, torch::kInt64);
  for (const int64_t row : {100, 5000, 8999}) among[row] = 1;
  const auto found = nearest_items(space, torch::ones({1, 5}, torch::kInt64), among, 4, torch::kCPU);
  EXPECT_EQ(test::labels_of(found.row), (std::vector<int64_t>{100, 5000, 8999, 0}));
  EXPECT_EQ(test::labels_of(found.distance), (std::vector<int64_t>{0, 0, 0, 5}));
}

TEST(NearestItems, LargeImagesAreCountedExactly) {
  // 128 x 256 pixels with 8 labels: differences of one pixel in 32,768 must not be lost.
  const Space space = Space::image(128, 256, 8);
  const auto item = test::some_labels(space, 1);
  auto near = item.clone();
  near[0][12345] = (near[0][12345] + 1) % 8;
  const auto among = torch::cat({test::some_labels(space, 2, 5), near, item}).to(torch::kUInt8);
  const auto found = nearest_items(space, item, among, 2, torch::kCPU);
  EXPECT_EQ(test::labels_of(found.row), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(test::labels_of(found.distance), (std::vector<int64_t>{0, 1}));
}

TEST(NearestItems, RefuseMoreThanThereAre) {
  const Space space = test::binary_space(2);
  const auto two = torch::zeros({2, 2}, torch::kInt64);
  EXPECT_EQ(test::input_error([&] { nearest_items(space, two, two, 3, torch::kCPU); }),
            "cannot find the nearest 3 of 2 items");
}

TEST(Memorisation, PlantedCopiesAreFound) {
  const Space space = test::binary_space(24);
  const auto train = test::some_labels(space, 500, 1);
  const auto held_out = test::some_labels(space, 400, 2);
  const auto distances = [&](const torch::Tensor& items) {
    return nearest_items(space, items, train, 1, torch::kCPU).distance.select(1, 0);
  };
  auto samples = test::some_labels(space, 200, 3);
  const auto honest = judge_memorisation(distances(samples), distances(held_out));
  EXPECT_EQ(honest.copies.value, 0.0);
  EXPECT_TRUE(honest.nearer.low < 0.5 && 0.5 < honest.nearer.high) << honest.nearer.value;
  samples.slice(0, 0, 30).copy_(train.slice(0, 100, 130));
  const auto copied = judge_memorisation(distances(samples), distances(held_out));
  EXPECT_EQ(copied.copies.value, 0.15);
  EXPECT_EQ(copied.natural_copies.value, 0.0);
  EXPECT_GT(difference(copied.copies, copied.natural_copies).low, 0.0);
  EXPECT_GT(copied.nearer.low, 0.5);
  EXPECT_EQ(copied.nearest5.value, 0.0);
  EXPECT_GT(copied.natural_nearest5.value, 0.0);
}

}  // namespace
}  // namespace segre::neighbours_test
