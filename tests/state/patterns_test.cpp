#include "segre/state/patterns.h"

#include <cmath>
#include <utility>

#include "tests/support/statistics.h"
#include "tests/support/support.h"

namespace segre {
namespace {

using test::kSigmas;

torch::Tensor shape_numbers(int64_t count) {
  return fill_uniform(torch::empty({count, KnownPatterns::kNumbers}), {1, Purpose::known_pattern}, 0);
}

torch::Tensor cell_numbers(const Space& space, int64_t count) {
  return fill_uniform(torch::empty({count, space.n_variables()}), {1, Purpose::known_cells}, 0);
}

// Sets of known variables, [count, n].
torch::Tensor draw(const Space& space, int64_t count) {
  return KnownPatterns(space, torch::kCPU)(shape_numbers(count), cell_numbers(space, count));
}

// The same if no single cell is ever chosen: only boxes are left, and the empty set.
torch::Tensor draw_boxes(const Space& space, int64_t count) {
  return KnownPatterns(space, torch::kCPU)(shape_numbers(count), torch::ones({count, space.n_variables()}));
}

// Whether a set [n] on a grid of this height and width is a rectangle.
bool is_box(const torch::Tensor& set, int64_t height, int64_t width) {
  const auto grid = set.view({height, width});
  const auto rows = grid.any(1).nonzero();
  const auto columns = grid.any(0).nonzero();
  if (rows.size(0) == 0) return false;
  const int64_t area =
      (rows.max() - rows.min() + 1).item<int64_t>() * (columns.max() - columns.min() + 1).item<int64_t>();
  return set.sum().item<int64_t>() == area;
}

bool is_box_or_all_but_one(const torch::Tensor& set, int64_t height, int64_t width) {
  return is_box(set, height, width) || is_box(set.logical_not(), height, width);
}

int64_t count_equal(const torch::Tensor& sets, const torch::Tensor& grid) {
  return (sets == grid.flatten()).all(1).sum().item<int64_t>();
}

TEST(KnownPatterns, EveryNumberOfCellsOfATableIsEquallyLikely) {
  constexpr int64_t kCount = 60'000;
  const auto known = draw(test::mixed_space(), kCount);
  ASSERT_EQ(known.scalar_type(), torch::kBool);
  ASSERT_EQ(known.sizes(), (std::vector<int64_t>{kCount, 5}));
  const auto found = torch::bincount(known.sum(1), {}, 6).to(torch::kFloat64) / static_cast<double>(kCount);
  const double p = 1.0 / 6.0;
  for (int64_t k = 0; k <= 5; ++k)
    EXPECT_NEAR(found[k].item<double>(), p, kSigmas * std::sqrt(p * (1.0 - p) / kCount)) << k << " known cells";
}

TEST(KnownPatterns, AndSoIsEverySetOfThatMany) {
  const Space space = test::binary_space(5);  // a label says whether the cell is known
  const auto sets = enumerate_labelings(space);
  const auto sets_of_size = torch::tensor({1, 5, 10, 10, 5, 1}, torch::kFloat64);
  const JointTable table = make_joint_table(space, sets, 1.0 / (6.0 * sets_of_size.index_select(0, sets.sum(1))));
  const auto known = draw(test::mixed_space(), 60'000).to(torch::kInt64);
  EXPECT_LT(std::abs(test::chi_square_sigmas(table, known)), kSigmas);
}

TEST(KnownPatterns, ImagesShowBoxesOrAllButABox) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{6, 4}, {5, 7}, {1, 3}, {1, 1}}) {
    const auto known = draw_boxes(Space::uniform(Layout::image, {height, width}, 3), 2000);
    for (int64_t k = 0; k < known.size(0); ++k)
      ASSERT_TRUE(is_box_or_all_but_one(known[k], height, width)) << known[k].to(torch::kInt64).view({height, width});
  }
}

TEST(KnownPatterns, SomeImagesShowCells) {
  constexpr int64_t kCount = 8000;
  const auto known = draw(Space::uniform(Layout::image, {6, 4}, 3), kCount);
  int64_t others = 0;
  for (int64_t k = 0; k < kCount; ++k) others += is_box_or_all_but_one(known[k], 6, 4) ? 0 : 1;
  // Four items of ten show cells. Among 24, every number from 0 to 24 is equally likely; 0, 1, 23 or 24 cells are
  // always a box or all but one, two neighbours (38 of 276 pairs) and all but two as well, and larger boxes hardly
  // ever.
  const double p = 0.4 * (1.0 - (4.0 + 2.0 * 38.0 / 276.0) / 25.0);
  EXPECT_NEAR(static_cast<double>(others) / kCount, p, 0.002 + kSigmas * std::sqrt(p * (1.0 - p) / kCount));
}

TEST(KnownPatterns, HalvesAndBordersOfImagesOccur) {
  const auto known = draw(Space::uniform(Layout::image, {6, 4}, 3), 8000);
  auto upper = torch::zeros({6, 4}, torch::kBool);
  upper.slice(0, 0, 3).fill_(true);
  auto left = torch::zeros({6, 4}, torch::kBool);
  left.slice(1, 0, 2).fill_(true);
  auto inner = torch::zeros({6, 4}, torch::kBool);
  inner.slice(0, 1, 5).slice(1, 1, 3).fill_(true);
  // The rarest, a horizontal half, is one item in 80: 100 of them are expected, and 50 are five standard deviations
  // less.
  for (const auto& set : {upper, left, inner}) {
    EXPECT_GT(count_equal(known, set), 50) << set.to(torch::kInt64);
    EXPECT_GT(count_equal(known, set.logical_not()), 50) << "all but" << set.to(torch::kInt64);
  }
}

TEST(KnownPatterns, SequencesShowSpansOrAllButASpan) {
  const Space space = Space::uniform(Layout::sequence, {10}, 3);
  const auto known = draw_boxes(space, 4000);
  for (int64_t k = 0; k < known.size(0); ++k)
    ASSERT_TRUE(is_box_or_all_but_one(known[k], 1, 10)) << known[k].to(torch::kInt64);
  // Both ways, and anywhere: one of 55 spans in 60% of the items, so that 22 are expected of each.
  for (const int64_t from : {0, 3, 7}) {
    auto span = torch::zeros({10}, torch::kBool);
    span.slice(0, from, from + 3).fill_(true);
    EXPECT_GT(count_equal(known, span), 0) << from;
    EXPECT_GT(count_equal(known, span.logical_not()), 0) << from;
  }
  // Single cells, too.
  int64_t others = 0;
  const auto cells = draw(space, 1000);
  for (int64_t k = 0; k < cells.size(0); ++k) others += is_box_or_all_but_one(cells[k], 1, 10) ? 0 : 1;
  EXPECT_GT(others, 100);
}

TEST(KnownPatterns, AnItemsSetDependsOnItsOwnNumbersOnly) {
  for (const Space& space :
       {test::mixed_space(), Space::uniform(Layout::image, {6, 4}, 3), Space::uniform(Layout::sequence, {10}, 3)}) {
    const KnownPatterns patterns(space, torch::kCPU);
    const auto shape = shape_numbers(200);
    const auto cells = cell_numbers(space, 200);
    const auto whole = patterns(shape, cells);
    EXPECT_TRUE(torch::equal(patterns(shape, cells), whole)) << space.describe();
    EXPECT_TRUE(torch::equal(patterns(shape.slice(0, 70, 90), cells.slice(0, 70, 90)), whole.slice(0, 70, 90)))
        << space.describe();
  }
}

TEST(KnownPatterns, CudaGivesTheSetsOfTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const Space& space :
       {test::mixed_space(), Space::uniform(Layout::image, {6, 4}, 3), Space::uniform(Layout::sequence, {10}, 3)}) {
    const auto there = KnownPatterns(space, torch::kCUDA)(shape_numbers(4000).cuda(), cell_numbers(space, 4000).cuda());
    EXPECT_TRUE(torch::equal(there.cpu(), draw(space, 4000))) << space.describe();
  }
}

}  // namespace
}  // namespace segre
