// Verdicts on curves of held-out nats whose noise is known.

#include "segre/runs/train_verdict.h"

#include <gtest/gtest.h>

#include "segre/core/rng.h"
#include "tests/support/messages.h"

namespace segre::train_verdict_test {
namespace {

using test::contains;

constexpr int64_t kItems = 400;
constexpr double kSpread = 3.0;  // of items' nats, far above what differs between validations

// Standard normal numbers whose mean is 0, the same for the same part.
torch::Tensor normals(int64_t part) {
  auto generator = torch::make_generator<torch::CPUGeneratorImpl>(static_cast<uint64_t>(part));
  const auto numbers = torch::randn({kItems}, generator, torch::kFloat64);
  return numbers - numbers.mean();
}

// A validation in which items have `nats` on average, each with its own, that change by `change` from one to the next.
ValidationResult validation_of(double nats, double change, int64_t part) {
  const auto items = nats + kSpread * normals(0) + change * normals(part);
  return {nats, nats, items.std().item<double>() / std::sqrt(static_cast<double>(kItems)), items};
}

// A finished training with these held-out nats, of which independent columns have 12, item by item.
TrainResult trained(const std::vector<double>& nats, double change = 0.1) {
  TrainResult result{
      .space = Space::table({{"a", 2, {}}, {"b", 2, {}}}), .independent_nats = 12.0, .uniform_nats = 14.0};
  result.n_held_out = kItems;
  result.independent_items = validation_of(12.0, 0.5, 1000).of_items;
  result.n_items = 1000;
  result.passes = 20.0;
  for (const double value : nats) {
    const auto number = static_cast<int64_t>(result.validations.size()) + 1;
    result.validations.push_back({50 * number, validation_of(value, change, number)});
  }
  return result;
}

TEST(TrainVerdict, DifferencesAreThoseOfPairs) {
  const TrainResult result = trained({10.0, 9.9});
  const Measured found = difference(result.validations[0].result, result.validations[1].result);
  // Items spread by 3 nats, so either mean is known to 0.15 nats; both changes of 0.1 make 0.1 sqrt(2/400).
  EXPECT_NEAR(found.error, 0.1 * std::sqrt(2.0 / kItems), 0.001);
  EXPECT_NEAR(found.value, 0.1, 1e-9);
  ValidationResult alone = result.validations[0].result;
  alone.of_items = torch::Tensor();
  EXPECT_NEAR(difference(alone, result.validations[1].result).error, kSpread * std::sqrt(2.0 / kItems), 0.02);
}

TEST(TrainVerdict, AGainBeyondItsErrorIsAnImprovement) {
  EXPECT_TRUE(
      contains(judge(trained({11.0, 10.5, 10.2, 10.0})).progress, "still improving (0.50 nats since step 100)"));
}

TEST(TrainVerdict, AHaltIsCertainOrIsNotClaimed) {
  EXPECT_EQ(judge(trained({11.0, 10.0, 10.0, 10.0}, 0.01)).progress,
            "no longer improving: longer training would help little");
  // The same curve with changes of 1 nat per item: 0.07 nats of error, where 0.02 would be worth the time.
  const auto open = judge(trained({11.0, 10.0, 10.0, 10.0}, 1.0)).progress;
  EXPECT_TRUE(contains(open, "too little to be certain that longer training would help")) << open;
}

TEST(TrainVerdict, AHaltBeforeAllItemsWereSeenIsNone) {
  TrainResult result = trained({11.0, 10.0, 10.0, 10.0}, 0.01);
  result.passes = 0.5;
  EXPECT_EQ(judge(result).progress, "only 0.50 passes over the data: longer training may help");
  result.passes = 0.0;  // endless data: no item is seen twice
  EXPECT_TRUE(contains(judge(result).progress, "no longer improving"));
}

TEST(TrainVerdict, OverfittingIsARiseBeyondItsError) {
  TrainResult result = trained({11.0, 10.0, 10.1, 10.3});
  ASSERT_NE(best_before_the_end(result), nullptr);
  EXPECT_EQ(best_before_the_end(result)->step, 100);
  EXPECT_TRUE(contains(judge(result).progress, "since then the model overfits: the best checkpoint is of that step"));
  result.uses_best = true;
  EXPECT_TRUE(contains(judge(result).progress, "that step is used"));
  EXPECT_EQ(&used_validation(result), &result.validations[1].result);
  EXPECT_EQ(best_before_the_end(trained({11.0, 10.0, 10.1, 10.3}, 2.0)), nullptr) << "0.3 nats, and an error of 0.14";
  EXPECT_TRUE(contains(judge(trained({10.0, 10.3, 10.8, 11.2})).progress, "overfits from the start"));
}

// Flat curves with noise: the lowest of twenty validations is below the last one for no reason.
TEST(TrainVerdict, TheBestOfManyIsNotBetterByChance) {
  int64_t n_claims = 0;
  for (int64_t k = 0; k < 200; ++k) {
    TrainResult result = trained({});
    for (int64_t step = 1; step <= 20; ++step) {
      const double mean_noise = 0.3 * normals(20 * k + step + 5000)[0].item<double>() / std::sqrt(kItems);
      result.validations.push_back({step, validation_of(10.0 + mean_noise, 0.3, 20 * k + step)});
    }
    n_claims += best_before_the_end(result) != nullptr ? 1 : 0;
  }
  // The last one is shared by all differences, so more than 20 P(z > 3) = 2.7% is possible; with two standard errors
  // more than a quarter would be claimed.
  EXPECT_LE(n_claims, 20);
}

TEST(TrainVerdict, AModelThatIsNoBetterThanIndependentColumnsIsCalledSo) {
  EXPECT_EQ(judge(trained({11.0})).worth, "");
  const auto worse = judge(trained({12.6})).worth;
  EXPECT_TRUE(contains(worse, "this model is no good: held-out items have 0.60")) << worse;
  EXPECT_TRUE(contains(worse, "nats more than with independent columns")) << worse;
  const auto equal = judge(trained({12.0})).worth;
  EXPECT_TRUE(contains(equal, "not certainly better than independent columns")) << equal;
}

TEST(TrainVerdict, ASingleColumnCannotDependOnOthers) {
  TrainResult result = trained({12.6});
  result.space = Space::table({{"a", 4, {}}});
  EXPECT_EQ(judge(result).worth, "");
}

TEST(TrainVerdict, NothingIsKnownOfASingleItem) {
  TrainResult result = trained({});
  result.independent_items = torch::tensor({12.0}, torch::kFloat64);
  for (int64_t step = 1; step <= 3; ++step)
    result.validations.push_back({step, {1.0, 20.0, std::nan(""), torch::tensor({20.0}, torch::kFloat64)}});
  const TrainVerdict verdict = judge(result);
  EXPECT_EQ(verdict.progress + verdict.worth, "");
}

}  // namespace
}  // namespace segre::train_verdict_test
