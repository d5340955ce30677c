#include "segre/eval/statistics.h"

#include <cmath>

#include "tests/support/reference.h"
#include "tests/support/statistics.h"

namespace segre::statistics_test {
namespace {

constexpr double kRounding = 1e-12;

// Draws from a joint distribution; `part` chooses which.
torch::Tensor draws(const JointTable& table, int64_t count, uint64_t part) {
  return JointSampler(table).draw({7, Purpose::probe}, part * 1'000'000, count);
}

TEST(CompareFrequencies, CountsTheShareOfEveryLabel) {
  const Space space = test::mixed_space();
  const auto x = test::some_labels(space, 40, 1);
  const auto y = test::some_labels(space, 70, 2);
  const auto found = compare_frequencies(space, x.to(torch::kUInt8), y.to(torch::kUInt8), 1);
  double total = 0.0;
  for (int64_t i = 0; i < space.n_variables(); ++i)
    for (int64_t label = 0; label < space.n_labels(i); ++label) {
      const double of_x = (x.select(1, i) == label).sum().item<double>() / 40;
      const double of_y = (y.select(1, i) == label).sum().item<double>() / 70;
      EXPECT_NEAR(found.samples[space.offset(i) + label].item<double>(), of_x, kRounding);
      EXPECT_NEAR(found.held_out[space.offset(i) + label].item<double>(), of_y, kRounding);
      total += 0.5 * std::abs(of_x - of_y);
    }
  EXPECT_NEAR(found.difference.value, total / 5, kRounding);
}

TEST(CompareFrequencies, CountsVariablesThatReachOverBlocks) {
  const Space space = test::space_of({5000, 5000});  // with 4000 items a block has 8388 coordinates
  const auto x = test::some_labels(space, 1500, 1);
  const auto y = test::some_labels(space, 2500, 2);
  const auto found = compare_frequencies(space, x, y, 1);
  const auto shares = torch::cat({x.select(1, 0).bincount({}, 5000), x.select(1, 1).bincount({}, 5000)}) / 1500.0;
  EXPECT_LT(test::max_difference(found.samples, shares.to(torch::kFloat64)), 1e-7);
}

TEST(CompareFrequencies, FloorIsWhatExactSamplesGive) {
  const auto table = test::random_joint(test::mixed_space());
  constexpr int kRepeats = 60;
  double difference = 0.0, squares = 0.0, floor = 0.0, largest = 0.0, largest_floor = 0.0;
  for (uint64_t k = 0; k < kRepeats; ++k) {
    const auto found = compare_frequencies(table.space, draws(table, 100, 2 * k), draws(table, 150, 2 * k + 1), k);
    difference += found.difference.value / kRepeats;
    squares += found.difference.value * found.difference.value / kRepeats;
    floor += found.difference_floor.value / kRepeats;
    largest += found.largest / kRepeats;
    largest_floor += found.largest_floor.value / kRepeats;
  }
  const double error = std::sqrt((squares - difference * difference) / kRepeats);
  EXPECT_LT(std::abs(difference - floor), test::kSigmas * error);
  EXPECT_LT(error, 0.05 * difference) << "else the comparison says nothing";
  EXPECT_NEAR(largest / largest_floor, 1.0, 0.15);  // maxima scatter by a quarter: 3% of their mean over 60
}

TEST(CompareFrequencies, RarelyFindsWhatIsNotThere) {
  // Variables that depend on each other; 5 of 100 false alarms are expected, 16 are five standard deviations.
  const auto table = test::random_joint(test::binary_space(6));
  int alarms = 0, differences = 0;
  for (uint64_t k = 0; k < 100; ++k) {
    const auto found = compare_frequencies(table.space, draws(table, 80, 2 * k), draws(table, 160, 2 * k + 1), k);
    alarms += found.n_significant > 0 ? 1 : 0;
    differences += found.difference.value > found.difference_floor.high ? 1 : 0;
  }
  EXPECT_LE(alarms, 16);
  EXPECT_LE(differences, 16);
  EXPECT_GE(alarms + differences, 1) << "a level of 5% must reject now and then";
}

TEST(CompareFrequencies, FindsTheOneVariableThatIsOff) {
  const Space space = test::binary_space(40);
  const auto y = test::some_labels(space, 1000, 2);
  auto x = test::some_labels(space, 500, 1);
  x.select(1, 17).slice(0, 0, 150).fill_(1);  // share of ones near 0.65 instead of 0.5
  const auto found = compare_frequencies(space, x, y, 1);
  EXPECT_EQ(found.largest_at / 2, 17);
  EXPECT_EQ(found.n_significant, 1);
  EXPECT_DOUBLE_EQ(found.significant, 1.0 / 40);
  EXPECT_GT(found.largest, found.largest_floor.high);
}

TEST(CompareFrequencies, IntervalCoversALargeDifference) {
  // P(1) is 0.3 and 0.7 against 0.6 and 0.2: the mean difference is 0.4, far from the kink of |.|.
  const Space space = test::binary_space(2);
  const auto joint = [&](double a, double b) {
    return make_joint_table(space, enumerate_labelings(space),
                            torch::tensor({(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b}, torch::kFloat64));
  };
  const auto p = joint(0.3, 0.7), q = joint(0.6, 0.2);
  int covered = 0;
  for (uint64_t k = 0; k < 200; ++k) {
    const auto e = compare_frequencies(space, draws(p, 90, 2 * k), draws(q, 120, 2 * k + 1), 1).difference;
    covered += e.low <= 0.4 && 0.4 <= e.high ? 1 : 0;
  }
  EXPECT_GE(covered, 174);  // 190 are expected; five standard deviations are 16
  EXPECT_LE(covered, 199);
}

TEST(CompareFrequencies, TheIntervalIsThatOfTheTwoMeansInfluences) {
  // One binary variable: the influence of an item is 1/2 with one label and -1/2 with the other, so its variance is
  // p (1 - p), unbiased, and each set divides by its own number of items.
  const Space space = test::binary_space(1);
  const auto items = [](int64_t ones, int64_t total) {
    return (torch::arange(total) < ones).to(torch::kInt64).unsqueeze(1);
  };
  const auto e = compare_frequencies(space, items(30, 40), items(36, 90), 1).difference;
  EXPECT_NEAR(e.value, 0.75 - 0.4, kRounding);
  const double reach = 1.959963984540054 * std::sqrt(0.75 * 0.25 / 39 + 0.4 * 0.6 / 89);
  EXPECT_NEAR(e.low, 0.35 - reach, kRounding);
  EXPECT_NEAR(e.high, 0.35 + reach, kRounding);
}

TEST(CompareFrequencies, RareLabelsDoNotStandOut) {
  // A label that occurs in a single sample: many standard errors off, yet evidence of nothing.
  const Space space = test::space_of({3});
  auto x = torch::zeros({20, 1}, torch::kInt64);
  x[0] = 2;
  const auto found = compare_frequencies(space, x, torch::zeros({1000, 1}, torch::kInt64), 1);
  EXPECT_EQ(found.largest_at, -1);
  EXPECT_EQ(found.n_significant, 0);
  EXPECT_NEAR(found.difference.value, 1.0 / 20, kRounding);
}

TEST(CompareFrequencies, NeedsTwoItemsEach) {
  const Space space = test::binary_space(2);
  EXPECT_EQ(test::input_error([&] {
              compare_frequencies(space, torch::zeros({1, 2}, torch::kInt64), torch::zeros({9, 2}, torch::kInt64), 1);
            }),
            "comparing frequencies needs at least two items each, found 1 and 9");
}

TEST(ImageStatistics, CountForegroundAndBoundary) {
  const Space space = Space::image(2, 3, 3);
  const auto labels = torch::tensor({{0, 0, 0, 0, 0, 0}, {0, 1, 1, 0, 2, 0}}, torch::kUInt8);
  EXPECT_EQ(background_label(space, labels), 0);
  const auto found = image_statistics(space, labels, 0);
  EXPECT_EQ(test::values_of(found.foreground), (test::Row{0, 3}));
  // Seven pairs: across 0|1 1=1, 0|2 2|0; down 0=0 1|2 1|0.
  EXPECT_EQ(found.boundary[0].item<double>(), 0.0);
  EXPECT_NEAR(found.boundary[1].item<double>(), 5.0 / 7, kRounding);
}

}  // namespace
}  // namespace segre::statistics_test
