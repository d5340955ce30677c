#include "segre/data/label_store.h"

#include "segre/io/mapped_rows.h"
#include "tests/support/support.h"

namespace segre::label_store_test {
namespace {

constexpr int64_t kRows = 5000;
constexpr int64_t kFew = 1000;  // bytes in memory: the labels below are in a file

Space space_of(int64_t n_labels) { return Space::sequence(3, n_labels); }

// Labels below `n_labels`, some of them unknown if `unknown` is set.
void fill(LabelStore& store, int64_t n_labels, bool unknown = false) {
  for (int64_t k = 0; k < 3 * kRows; ++k)
    store.add(unknown && k % 11 == 0 ? static_cast<int32_t>(kUnknown) : static_cast<int32_t>(k * k % n_labels));
}

// Both stores do the same, one in memory and one in a file, and have the same labels.
template <class Action>
void expect_same(const Space& space, Unknowns unknowns, Action&& action) {
  LabelStore in_memory;
  LabelStore in_file(kFew);
  action(in_memory);
  action(in_file);
  EXPECT_EQ(in_file.size(), 3 * kRows);
  EXPECT_EQ(in_file.at(100), in_memory.at(100));
  in_file.release();  // nothing is lost
  const auto expected = in_memory.take(space, unknowns);
  const auto found = in_file.take(space, unknowns);
  EXPECT_FALSE(is_mapped(expected));
  EXPECT_EQ(found.scalar_type(), label_type(space, unknowns));
  EXPECT_TRUE(torch::equal(found, expected));
  EXPECT_EQ(in_file.size(), 0);
}

TEST(LabelStore, InAFileIsLikeInMemory) {
  expect_same(space_of(200), Unknowns::refuse, [](LabelStore& store) { fill(store, 200); });
  expect_same(space_of(60'000), Unknowns::refuse, [](LabelStore& store) { fill(store, 60'000); });
  expect_same(space_of(200), Unknowns::allow, [](LabelStore& store) { fill(store, 200, /*unknown=*/true); });
  expect_same(space_of(200), Unknowns::allow, [](LabelStore& store) { fill(store, 200); });
}

TEST(LabelStore, WidensWhatIsAlreadyInAFile) {
  expect_same(space_of(1000), Unknowns::refuse, [](LabelStore& store) {
    for (int64_t k = 0; k < 3 * kRows; ++k) store.add(k < 2 * kRows ? static_cast<int32_t>(k % 256) : 999);
  });
  expect_same(space_of(1000), Unknowns::refuse, [](LabelStore& store) {
    fill(store, 200);
    store.set(7, 999);
    store.set(8, 3);
  });
}

TEST(LabelStore, RelabelsWhatIsInAFile) {
  std::vector<int32_t> reversed(200);
  for (int32_t k = 0; k < 200; ++k) reversed[static_cast<size_t>(k)] = 199 - k;
  expect_same(space_of(200), Unknowns::refuse, [&](LabelStore& store) {
    fill(store, 200);
    store.relabel(reversed);
  });
  std::vector<int32_t> shifted = reversed;
  for (int32_t& label : shifted) label += 500;
  expect_same(space_of(200), Unknowns::allow, [&](LabelStore& store) {
    fill(store, 200, /*unknown=*/true);
    store.relabel(std::vector<std::vector<int32_t>>{reversed, reversed, reversed});
  });
  expect_same(space_of(1000), Unknowns::refuse, [&](LabelStore& store) {
    fill(store, 200);
    store.relabel(shifted);
  });
}

TEST(LabelStore, TheTensorOfALargeOneIsMapped) {
  LabelStore store(kFew);
  fill(store, 200);
  EXPECT_TRUE(is_mapped(store.take(space_of(200))));
}

}  // namespace
}  // namespace segre::label_store_test
