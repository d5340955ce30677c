#include "segre/eval/total_variation.h"

#include <cmath>

#include "segre/sources/toys.h"
#include "tests/support/statistics.h"
#include "tests/support/support.h"

namespace segre::total_variation_test {
namespace {

using test::kSigmas;

constexpr double kRounding = 1e-12;  // of sums of a few hundred float64 numbers

LabelingCounts counts_of(const Space& space, const torch::Tensor& labels) {
  LabelingCounts counts(space);
  counts.add(labels);
  return counts;
}

TEST(LabelingCounts, CountsWhatCame) {
  const Space space = test::mixed_space();
  const auto first = torch::tensor({1, 2, 4, 2, 6}, torch::kInt64);
  const auto second = torch::tensor({0, 2, 4, 2, 6}, torch::kInt64);
  LabelingCounts counts(space);
  counts.add(torch::stack({first, second, first}));
  counts.add(torch::stack({first}));
  EXPECT_EQ(counts.total(), 4);
  EXPECT_EQ(counts.count(first), 3);
  EXPECT_EQ(counts.count(second), 1);
  EXPECT_EQ(counts.count(torch::zeros({5}, torch::kInt64)), 0);
  EXPECT_TRUE(torch::equal(counts.counts(torch::stack({second, first})), torch::tensor({1, 3}, torch::kInt64)));
}

TEST(LabelingCounts, KeepsAllLabelingsApart) {
  const Space space = test::mixed_space();
  const auto all = enumerate_labelings(space);
  EXPECT_TRUE(torch::equal(counts_of(space, all).counts(all), torch::ones({all.size(0)}, torch::kInt64)));
}

TEST(LabelingCounts, WorksUpTo62BitsAndRefusesMore) {
  const Space large = test::binary_space(62);
  const auto ones = torch::ones({1, 62}, torch::kInt64);
  auto but_first = ones.clone();
  but_first[0][0] = 0;
  const auto counts = counts_of(large, torch::cat({ones, ones, but_first}));
  EXPECT_EQ(counts.count(ones[0]), 2);
  EXPECT_EQ(counts.count(but_first[0]), 1);
  EXPECT_EQ(test::input_error([] { LabelingCounts(test::binary_space(63)); }),
            "the sequence of 63 variables with 2 labels each has too many labelings to count");
}

TEST(TotalVariation, IsWhatOneComputesByHand) {
  const auto table = coupled_binary();
  // Frequencies (1/2, 1/4, 1/4, 0) against (0.45, 0.05, 0.05, 0.45): (0.05 + 0.2 + 0.2 + 0.45) / 2.
  const auto labels = torch::tensor({{0, 0}, {0, 0}, {0, 1}, {1, 0}}, torch::kInt64);
  EXPECT_NEAR(total_variation(table, counts_of(table.space, labels)), 0.45, kRounding);
}

TEST(TotalVariation, CountsLabelingsOutsideTheTable) {
  const Space space = test::binary_space(2);
  const auto table = make_joint_table(space, torch::tensor({{0, 0}, {1, 1}}, torch::kInt64), torch::tensor({0.5, 0.5}));
  // Frequencies (1/4, 1/4) of the table and 1/2 outside: (0.25 + 0.25 + 0.5) / 2.
  const auto labels = torch::tensor({{0, 0}, {1, 1}, {0, 1}, {1, 0}}, torch::kInt64);
  EXPECT_NEAR(total_variation(table, counts_of(space, labels)), 0.5, kRounding);
}

TEST(TotalVariation, IsZeroForTheDistributionItselfAndOneForADisjointOne) {
  const Space space = test::binary_space(2);
  const auto table = make_joint_table(space, torch::tensor({{0, 0}, {1, 1}}, torch::kInt64), torch::tensor({0.5, 0.5}));
  EXPECT_NEAR(total_variation(table, counts_of(space, table.labelings)), 0.0, kRounding);
  EXPECT_NEAR(total_variation(table, counts_of(space, torch::tensor({{0, 1}}, torch::kInt64))), 1.0, kRounding);
}

TEST(TotalVariationFloor, IsExactForOneSampleAndForCoins) {
  const Space coin = test::binary_space(1);
  const auto fair = make_joint_table(coin, enumerate_labelings(coin), torch::ones({2}));
  // One sample is (1, 0) or (0, 1) against (1/2, 1/2). Two are (1, 0), (0, 1) with total chance 1/2, else exact.
  EXPECT_NEAR(total_variation_floor(fair, 1), 0.5, kRounding);
  EXPECT_NEAR(total_variation_floor(fair, 2), 0.25, kRounding);
  // One sample of any p: sum_a p_a (1 - p_a).
  const auto table = test::random_joint(test::mixed_space());
  EXPECT_NEAR(total_variation_floor(table, 1), (table.p * (1 - table.p)).sum().item<double>(), kRounding);
}

TEST(TotalVariationFloor, IsZeroForACertainLabeling) {
  const Space space = test::binary_space(1);
  const auto table = make_joint_table(space, torch::zeros({1, 1}, torch::kInt64), torch::ones({1}));
  EXPECT_EQ(total_variation_floor(table, 10), 0.0);
}

TEST(TotalVariationFloor, IsTheMeanOverSimulatedDraws) {
  const auto table = test::random_joint(test::mixed_space());
  const JointSampler sampler(table);
  constexpr int kRepeats = 200;
  constexpr int64_t kSamples = 500;
  double sum = 0.0;
  double squares = 0.0;
  for (int k = 0; k < kRepeats; ++k) {
    const auto labels = sampler.draw({9, Purpose::training_data}, k * kSamples, kSamples);
    const double value = total_variation(table, counts_of(table.space, labels));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kRepeats;
  const double error = std::sqrt((squares / kRepeats - mean * mean) / kRepeats);
  EXPECT_LT(std::abs(mean - total_variation_floor(table, kSamples)), kSigmas * error);
  EXPECT_LT(error, 0.01 * mean) << "else the comparison says nothing";
}

TEST(TotalVariationFloor, FallsWithTheRootOfTheNumberOfSamples) {
  const auto table = coupled_binary();
  // Each |count - np| is half-normal for large n: floor = sum_a sqrt(p (1 - p) / (2 pi n)).
  const double limit = (table.p * (1 - table.p)).sqrt().sum().item<double>() / std::sqrt(2 * M_PI * 1e6);
  EXPECT_NEAR(total_variation_floor(table, 1'000'000) / limit, 1.0, 1e-4);
}

TEST(LabelingCounts, RefusesLabelingsOfAnotherSpace) {
  LabelingCounts counts(test::binary_space(2));
  EXPECT_EQ(test::input_error([&] {
              counts.add(torch::tensor({{0, 2}}, torch::kInt64));
            }),
            "item 0, variable x2: label 2 where 0 to 1 was expected");
  EXPECT_EQ(test::input_error([&] {
              counts.counts(torch::tensor({{0, 0, 1}}, torch::kInt64));
            }),
            "labels must be integers of shape [items, 2], found long int of shape [1, 3]");
  counts.add(torch::tensor({{0, 1}}, torch::kUInt8));
  EXPECT_EQ(counts.total(), 1);
}

}  // namespace
}  // namespace segre::total_variation_test
