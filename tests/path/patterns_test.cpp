#include "segre/path/patterns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "tests/support/statistics.h"
#include "tests/support/support.h"

namespace segre::patterns_test {
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

// Whether items show single cells. In draw_boxes those that would show nothing.
enum class Cells { sometimes, never };

// The exact law of the sets of a grid: bit i of a position says whether variable i is known. Of images and sequences,
// four items of ten show cells, each number of them equally likely. The others show a part or all but it: of a sequence
// a span; of an image a half (upper rows or left columns, any number of them) with probability 0.5, what a border
// leaves with probability 0.15, else a rectangle. Spans and rectangles are equally likely, wherever they are.
class LawOfSets {
 public:
  LawOfSets(PartKind kind, int64_t height, int64_t width, Cells cells)
      : height_(height), width_(width), p_(size_t{1} << (height * width), 0.0) {
    constexpr double kCells = 0.4;
    if (cells == Cells::sometimes) add_cells(kCells);
    if (cells == Cells::never) p_.front() += kCells;
    const bool is_image = kind == PartKind::image;
    add_halves(is_image ? 0.5 * (1.0 - kCells) : 0.0);
    add_borders(is_image ? 0.15 * (1.0 - kCells) : 0.0);
    add_boxes((is_image ? 0.35 : 1.0) * (1.0 - kCells));
  }

  // With a binary variable for each cell, and without the sets that never occur.
  JointTable table() const {
    const int64_t n = height_ * width_;
    std::vector<int64_t> labels;
    std::vector<double> p;
    for (size_t set = 0; set < p_.size(); ++set) {
      if (p_[set] == 0.0) continue;
      p.push_back(p_[set]);
      for (int64_t i = 0; i < n; ++i) labels.push_back(static_cast<int64_t>(set >> i & 1));
    }
    return make_joint_table(test::binary_space(n), torch::tensor(labels, torch::kInt64).view({-1, n}),
                            torch::tensor(p, torch::kFloat64));
  }

 private:
  void add_cells(double share) {
    const int64_t n = height_ * width_;
    std::vector<double> of_size(static_cast<size_t>(n) + 1, 0.0);
    for (size_t set = 0; set < p_.size(); ++set) ++of_size[static_cast<size_t>(std::popcount(set))];
    for (size_t set = 0; set < p_.size(); ++set)
      p_[set] += share / (static_cast<double>(n + 1) * of_size[static_cast<size_t>(std::popcount(set))]);
  }
  void add_halves(double share) {
    for (int64_t k = 1; k <= height_; ++k) add(0, k, 0, width_, 0.5 * share / static_cast<double>(height_));
    for (int64_t k = 1; k <= width_; ++k) add(0, height_, 0, k, 0.5 * share / static_cast<double>(width_));
  }
  // A margin is uniform below half the shorter side, and rounded down.
  void add_borders(double share) {
    const double most = 0.5 * static_cast<double>(std::min(height_, width_));
    for (int64_t k = 0; static_cast<double>(k) < most; ++k)
      add(k, height_ - k, k, width_ - k, share * std::min(1.0, most - static_cast<double>(k)) / most);
  }
  void add_boxes(double share) {
    const auto n = static_cast<double>(height_ * (height_ + 1) / 2 * (width_ * (width_ + 1) / 2));
    for (int64_t top = 0; top < height_; ++top)
      for (int64_t bottom = top + 1; bottom <= height_; ++bottom)
        for (int64_t left = 0; left < width_; ++left)
          for (int64_t right = left + 1; right <= width_; ++right) add(top, bottom, left, right, share / n);
  }
  // A box, or all but it.
  void add(int64_t top, int64_t bottom, int64_t left, int64_t right, double share) {
    size_t box = 0;
    for (int64_t y = top; y < bottom; ++y)
      for (int64_t x = left; x < right; ++x) box |= size_t{1} << (y * width_ + x);
    p_[box] += 0.5 * share;
    p_[p_.size() - 1 - box] += 0.5 * share;
  }

  int64_t height_, width_;
  std::vector<double> p_;  // of every set
};

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
    const auto known = draw_boxes(Space::image(height, width, 3), 2000);
    for (int64_t k = 0; k < known.size(0); ++k)
      ASSERT_TRUE(is_box_or_all_but_one(known[k], height, width)) << known[k].to(torch::kInt64).view({height, width});
  }
}

TEST(KnownPatterns, SomeImagesShowCells) {
  constexpr int64_t kCount = 8000;
  const auto known = draw(Space::image(6, 4, 3), kCount);
  int64_t others = 0;
  for (int64_t k = 0; k < kCount; ++k) others += is_box_or_all_but_one(known[k], 6, 4) ? 0 : 1;
  // Four items of ten show cells. Among 24, every number from 0 to 24 is equally likely; 0, 1, 23 or 24 cells are
  // always a box or all but one, two neighbours (38 of 276 pairs) and all but two as well, and larger boxes hardly
  // ever.
  const double p = 0.4 * (1.0 - (4.0 + 2.0 * 38.0 / 276.0) / 25.0);
  EXPECT_NEAR(static_cast<double>(others) / kCount, p, 0.002 + kSigmas * std::sqrt(p * (1.0 - p) / kCount));
}

TEST(KnownPatterns, HalvesAndBordersOfImagesOccur) {
  const auto known = draw(Space::image(6, 4, 3), 8000);
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
  const Space space = Space::sequence(10, 3);
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

TEST(KnownPatterns, OfAnImageAndItsClassTheImageHasTheBoxes) {
  constexpr int64_t kCount = 4000;
  const Space space = Space::of_parts({{.kind = PartKind::columns, .name = "before", .columns = {{"a", 2, {}}}},
                                       {.kind = PartKind::image, .name = "image", .shape = {5, 7}, .n_labels = 3},
                                       {.kind = PartKind::columns, .name = "labels", .columns = {{"class", 3, {}}}}});
  const auto known = KnownPatterns(space, torch::kCPU)(shape_numbers(kCount), torch::ones({kCount, 37}));
  const auto alone = KnownPatterns(Space::image(5, 7, 3), torch::kCPU)(shape_numbers(kCount), torch::ones({kCount, 35}));
  EXPECT_TRUE(torch::equal(known.slice(1, 1, 36), alone));
  EXPECT_FALSE(known.select(1, 0).any().item<bool>()) << "a cell's number of 1 is below no share";
  // Columns beside the image are known half of the time, whatever is known of the image.
  const auto drawn = draw(space, kCount).select(1, 36).to(torch::kFloat64);
  EXPECT_NEAR(drawn.mean().item<double>(), 0.5, kSigmas * 0.5 / std::sqrt(static_cast<double>(kCount)));
}

TEST(KnownPatterns, EverySpanOfASequenceIsEquallyLikelyWhereverItIs) {
  for (const int64_t length : {1, 2, 5, 8}) {
    const auto known = draw(Space::sequence(length, 3), 60'000).to(torch::kInt64);
    const JointTable law = LawOfSets(PartKind::sequence, 1, length, Cells::sometimes).table();
    EXPECT_LT(std::abs(test::chi_square_sigmas(law, known)), kSigmas) << length;
  }
}

TEST(KnownPatterns, RectanglesHalvesAndBordersOfImagesAreAsLikelyAsTheyShouldBe) {
  // Also of images that are not square, with sides of even and odd length.
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{3, 4}, {5, 2}, {1, 4}, {4, 4}, {3, 5}}) {
    const auto known = draw_boxes(Space::image(height, width, 3), 60'000).to(torch::kInt64);
    const JointTable law = LawOfSets(PartKind::image, height, width, Cells::never).table();
    EXPECT_LT(std::abs(test::chi_square_sigmas(law, known)), kSigmas) << height << " x " << width;
  }
  const auto with_cells = draw(Space::image(3, 3, 3), 60'000).to(torch::kInt64);
  const JointTable law = LawOfSets(PartKind::image, 3, 3, Cells::sometimes).table();
  EXPECT_LT(std::abs(test::chi_square_sigmas(law, with_cells)), kSigmas);
}

TEST(KnownPatterns, AnItemsSetDependsOnItsOwnNumbersOnly) {
  for (const Space& space :
       {test::mixed_space(), Space::image(6, 4, 3), Space::sequence(10, 3)}) {
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
       {test::mixed_space(), Space::image(6, 4, 3), Space::sequence(10, 3)}) {
    const auto there = KnownPatterns(space, torch::kCUDA)(shape_numbers(4000).cuda(), cell_numbers(space, 4000).cuda());
    EXPECT_TRUE(torch::equal(there.cpu(), draw(space, 4000))) << space.describe();
  }
}

}  // namespace
}  // namespace segre::patterns_test
