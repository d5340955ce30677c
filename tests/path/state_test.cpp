#include "segre/path/state.h"

#include <cmath>

#include "segre/path/simplex.h"
#include "segre/space/blocks.h"
#include "tests/support/support.h"

namespace segre::state_test {
namespace {

using test::max_difference;
using test::mixed_space;
using test::noise;

// A mixed and a uniform space, both of five variables with the labels used below.
std::vector<Space> spaces() { return {mixed_space(), Space::sequence(5, 4)}; }

// Three items: some variables known, none, all.
torch::Tensor some_marks() {
  return torch::tensor({{1, -1, -2, 2, -1}, {-1, -1, -1, -1, -1}, {0, 2, 3, 2, 3}}, torch::kInt64);
}

// Calls fn(row, variable, mark, first coordinate, number of labels) for every variable of the items above.
template <class Fn>
void for_each_mark(const Space& space, Fn&& fn) {
  const auto marks = some_marks();
  for (int64_t b = 0; b < marks.size(0); ++b)
    for (int64_t i = 0; i < space.n_variables(); ++i)
      fn(b, i, marks[b][i].item<int64_t>(), space.offset(i), space.n_labels(i));
}

// Whether `part` has these rows of `whole`, in the tensors that `whole` has.
void expect_rows(const Known& part, const Known& whole, const std::vector<int64_t>& rows) {
  const auto expect_same = [&](const torch::Tensor& x, const torch::Tensor& from) {
    ASSERT_EQ(x.defined(), from.defined());
    if (!from.defined()) return;
    ASSERT_EQ(x.size(0), static_cast<int64_t>(rows.size()));
    for (size_t k = 0; k < rows.size(); ++k) EXPECT_TRUE(torch::equal(x[static_cast<int64_t>(k)], from[rows[k]])) << k;
  };
  expect_same(part.labels, whole.labels);
  expect_same(part.soft, whole.soft);
}

TEST(Known, RowsAreThoseOfTheTensorsThatAreThere) {
  const Known both{.labels = some_marks(), .soft = noise({3, 20})};
  for (const Known& known : {both, Known{.labels = both.labels}, Known{.soft = both.soft}, Known{}}) {
    expect_rows(known.slice(1, 3), known, {1, 2});
    expect_rows(known.select(torch::tensor({2, 0, 2}, torch::kInt64)), known, {2, 0, 2});
    expect_rows(known.repeat_each(2), known, {0, 0, 1, 1, 2, 2});
    EXPECT_EQ(known.slice(0, 1).nothing(), known.nothing());
  }
  EXPECT_TRUE(Known{}.nothing());
  EXPECT_FALSE(Known{.soft = both.soft}.nothing());
}

TEST(Known, OnlyEvidenceTakesTheTypeOfNumbers) {
  const Known known{.labels = some_marks(), .soft = noise({3, 20})};
  const Known single = known.to(torch::kFloat32);
  EXPECT_EQ(single.labels.scalar_type(), torch::kInt64);
  EXPECT_TRUE(torch::equal(single.labels, known.labels));
  EXPECT_EQ(single.soft.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::equal(single.soft, known.soft.to(torch::kFloat32)));
  EXPECT_TRUE(Known{}.to(torch::kFloat32).nothing());
}

TEST(Known, GoesToADeviceAndIsSelectedThere_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Known known{.labels = some_marks(), .soft = noise({3, 20})};
  const Known there = known.to(torch::TensorOptions(torch::kCUDA).dtype(torch::kFloat32));
  EXPECT_TRUE(there.labels.is_cuda());
  EXPECT_TRUE(there.soft.is_cuda());
  const auto rows = torch::tensor({2, 1}, torch::kInt64);  // on the CPU
  EXPECT_TRUE(torch::equal(there.select(rows).labels.cpu(), known.select(rows).labels));
}

TEST(Known, CompleteItemsOfWhichNothingIsGivenSayNothing) {
  EXPECT_TRUE(known_of(torch::zeros({4, 5}, torch::kInt64)).nothing());
  EXPECT_FALSE(open_variables({}).defined());
}

TEST(Known, GivenVariablesAreKnownAndMissingOnesLeftOut) {
  const auto labels = torch::tensor({{1, -1, 4, 2, 6}, {0, 2, 0, 0, 0}}, torch::kInt64);
  EXPECT_TRUE(torch::equal(known_of(labels).labels,
                           torch::tensor({{-1, -2, -1, -1, -1}, {-1, -1, -1, -1, -1}}, torch::kInt64)));
  const auto given = torch::tensor({1, 1, 0, 0, 1}).to(torch::kBool);
  const Known known = known_of(labels, given);
  EXPECT_TRUE(torch::equal(known.labels, torch::tensor({{1, -2, -1, -1, 6}, {0, 2, -1, -1, 0}}, torch::kInt64)))
      << "a given variable whose label is missing is left out too";
  EXPECT_FALSE(known.soft.defined());
  EXPECT_TRUE(torch::equal(open_variables(known), torch::tensor({{0, 0, 1, 1, 0}, {0, 0, 1, 1, 0}}).to(torch::kBool)));
}

TEST(Known, OnlyOpenVariablesKeepTheirCoordinates) {
  for (const Space& space : spaces()) {
    const auto x = noise({3, space.n_coordinates()});
    auto shown = x.clone();
    for_each_mark(space, [&](int64_t b, int64_t, int64_t mark, int64_t at, int64_t c) {
      if (mark != kUnknown) shown[b].narrow(0, at, c).fill_(NAN);  // whatever is there
    });
    const auto found = only_open(space, {.labels = some_marks()}, shown);
    for_each_mark(space, [&](int64_t b, int64_t i, int64_t mark, int64_t at, int64_t c) {
      const auto expected = mark == kUnknown ? x[b].narrow(0, at, c) : torch::zeros({c}, torch::kFloat64);
      EXPECT_TRUE(torch::equal(found[b].narrow(0, at, c), expected)) << b << ' ' << i;
    });
    EXPECT_TRUE(only_open(space, {}, x).is_same(x)) << "nothing known costs nothing";
  }
}

TEST(Known, SumsAreOverOpenVariablesAndWide) {
  const auto x = noise({3, 5}, 1, torch::kFloat32);
  auto expected = torch::zeros({3}, torch::kFloat64);
  for_each_mark(mixed_space(), [&](int64_t b, int64_t i, int64_t mark, int64_t, int64_t) {
    if (mark == kUnknown) expected[b] += x[b][i].to(torch::kFloat64);
  });
  auto shown = x.clone();
  shown[0][2] = NAN;  // left out
  shown[2][0] = NAN;  // known
  const auto found = sum_open({.labels = some_marks()}, shown);
  EXPECT_EQ(found.scalar_type(), torch::kFloat64);
  // Up to five numbers of size 1, rounded in float64.
  EXPECT_LT(max_difference(found, expected), 1e-14);
  EXPECT_LT(max_difference(sum_open({}, x), x.to(torch::kFloat64).sum(1)), 1e-14);
}

TEST(Known, KnownVariablesAreCornersAndTheOthersStay) {
  for (const Space& space : spaces()) {
    auto W = lift(space, noise({3, space.n_coordinates()})).requires_grad_(true);
    const Known known{.labels = some_marks()};
    const auto found = with_corners(space, known, W);
    for_each_mark(space, [&](int64_t b, int64_t i, int64_t mark, int64_t at, int64_t c) {
      auto expected = W.detach()[b].narrow(0, at, c);
      if (mark >= 0) expected = (torch::arange(c) == mark).to(torch::kFloat64);
      EXPECT_TRUE(torch::equal(found.detach()[b].narrow(0, at, c), expected)) << b << ' ' << i;
    });
    found.sum().backward();
    const auto is_free = spread(space, known.labels < 0).to(torch::kFloat64);
    EXPECT_TRUE(torch::equal(W.grad(), is_free)) << "gradients pass where nothing is known";
    EXPECT_TRUE(with_corners(space, {}, W).is_same(W));
  }
}

}  // namespace
}  // namespace segre::state_test
