#include "segre/data/split.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/messages.h"

namespace segre::shuffle_test {
namespace {

const RandomStream kRandom(7, Purpose::training_data);

std::vector<int64_t> order(const RandomStream& random, uint64_t epoch, int64_t n) {
  std::vector<int64_t> out;
  for (int64_t k = 0; k < n; ++k) out.push_back(shuffled(random, epoch, k, n));
  return out;
}

TEST(Shuffle, EveryEpochIsAPermutation) {
  for (const int64_t n : {1, 2, 3, 5, 64, 65, 1000, 60000})
    for (const uint64_t epoch : {0, 1, 12345}) {
      std::vector<int> seen(static_cast<size_t>(n), 0);
      for (const int64_t value : order(kRandom, epoch, n)) {
        ASSERT_GE(value, 0);
        ASSERT_LT(value, n);
        ++seen[static_cast<size_t>(value)];
      }
      EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(n), 1)) << n << ", epoch " << epoch;
    }
}

TEST(Shuffle, IsTheSameEveryTime) { EXPECT_EQ(order(kRandom, 3, 1000), order(kRandom, 3, 1000)); }

TEST(Shuffle, EpochsSeedsAndPurposesDiffer) {
  const auto first = order(kRandom, 0, 1000);
  EXPECT_NE(order(kRandom, 1, 1000), first);
  EXPECT_NE(order({8, Purpose::training_data}, 0, 1000), first);
  EXPECT_NE(order({7, Purpose::validation_data}, 0, 1000), first);
}

// Two epochs agree at about one position, as two random permutations of any length do.
TEST(Shuffle, EpochsHaveFewPlacesInCommon) {
  constexpr int kEpochs = 200;
  constexpr int64_t kItems = 1000;
  const auto first = order(kRandom, 0, kItems);
  int64_t shared = 0;
  for (uint64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    const auto other = order(kRandom, epoch, kItems);
    for (size_t k = 0; k < first.size(); ++k) shared += first[k] == other[k] ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(shared), kEpochs, 5.0 * std::sqrt(kEpochs));  // Poisson, five standard deviations
}

// Compares counts of (position, value) over many epochs with equal ones. For random permutations of n items the sum of
// (count - E)^2 / E has mean n (n - 1) and about the variance of n^2 / (n - 1)^2 times a chi-square with (n - 1)^2
// degrees of freedom.
double sigmas_from_uniform(int64_t n, int epochs) {
  std::vector<double> counts(static_cast<size_t>(n * n), 0.0);
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (int64_t k = 0; k < n; ++k)
      counts[static_cast<size_t>(k * n + shuffled(kRandom, static_cast<uint64_t>(epoch), k, n))] += 1.0;
  const double expected = static_cast<double>(epochs) / static_cast<double>(n);
  double statistic = 0.0;
  for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
  const auto m = static_cast<double>(n);
  return (statistic - m * (m - 1)) / (m / (m - 1) * std::sqrt(2.0 * (m - 1) * (m - 1)));
}

TEST(Shuffle, EveryItemIsEquallyLikelyAtEveryPosition) {
  for (const int64_t n : {2, 3, 5, 17, 64}) EXPECT_LT(std::abs(sigmas_from_uniform(n, 4000)), 5.0) << n;
}

TEST(Shuffle, APlaceOutsideIsRefused) {
  // The walk might cycle outside [0, n) forever.
  EXPECT_EQ(test::any_error([] { shuffled(kRandom, 0, 5, 5); }), "position 5 is outside a shuffle of 5 items");
  EXPECT_EQ(test::any_error([] { shuffled(kRandom, 0, -1, 5); }), "position -1 is outside a shuffle of 5 items");
}

// A shuffle that keeps neighbours together would pass the test above.
TEST(Shuffle, NeighboursAreParted) {
  constexpr int64_t kItems = 60000;
  const auto items = order(kRandom, 0, kItems);
  int64_t together = 0;
  for (size_t k = 1; k < items.size(); ++k) together += std::abs(items[k] - items[k - 1]) == 1 ? 1 : 0;
  EXPECT_LE(together, 12);  // two are expected; a Poisson number exceeds this once in a million times
}

}  // namespace
}  // namespace segre::shuffle_test
