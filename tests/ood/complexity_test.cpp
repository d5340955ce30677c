#include "segre/ood/complexity.h"

#include <cmath>

#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::complexity_test {
namespace {

constexpr double kRidgeError = 1e-4;  // the fit's ridge of 1e-6, times the condition of a few hundred items

// Positive numbers of 20 nats and more.
torch::Tensor complexity(int64_t count, uint64_t seed) { return (test::noise({count}, seed) * 0.4 + 5.0).exp(); }

TEST(ComplexityFit, FindsThePowersThatMadeTheNats) {
  const auto a = complexity(300, 1);
  const auto b = complexity(300, 2);
  const ComplexityFit fit((0.5 + 0.3 * a.log() + 0.8 * b.log()).exp(), {a, b});
  EXPECT_NEAR(fit.exponents()[0], 0.3, kRidgeError);
  EXPECT_NEAR(fit.exponents()[1], 0.8, kRidgeError);
  EXPECT_NEAR(fit.intercept(), 0.5, 10.0 * kRidgeError);
}

TEST(ComplexityFit, ResidualsOfTheFittedItemsHaveMean0AndVariance1) {
  const auto a = complexity(200, 3);
  const auto nats = (0.7 * a.log() + 0.2 * test::noise({200}, 4)).exp();
  const ComplexityFit fit(nats, {a});
  const auto residual = fit.standardised(nats, {a});
  EXPECT_NEAR(residual.mean().item<double>(), 0.0, 1e-10);
  EXPECT_NEAR(residual.square().sum().item<double>() / (200.0 - 2.0), 1.0, 1e-10);
  EXPECT_NEAR(fit.spread(), 0.2, 0.04) << "four standard errors of 200 items";
  // Uncorrelated with the complexity: what a thin stroke saves is removed.
  const auto centred = a.log() - a.log().mean();
  EXPECT_NEAR((residual * centred).mean().item<double>(), 0.0, kRidgeError);
}

TEST(ComplexityFit, MoreNatsThanTheComplexityExplainsScoreHigher) {
  const auto a = complexity(200, 5);
  const auto nats = (0.7 * a.log() + 0.2 * test::noise({200}, 6)).exp();
  const ComplexityFit fit(nats, {a});
  const auto higher = fit.standardised(2.0 * nats, {a}) - fit.standardised(nats, {a});
  EXPECT_LT(test::max_difference(higher, torch::full_like(higher, std::log(2.0) / fit.spread())), 1e-10);
}

TEST(ComplexityFit, AComplexityThatNeverVariesIsLeftOut) {
  const auto a = complexity(100, 7);
  const auto nats = 2.0 * a;
  const ComplexityFit fit(nats, {torch::full({100}, 44.0, torch::kFloat64), a});
  EXPECT_EQ(fit.exponents()[0], 0.0);
  EXPECT_NEAR(fit.exponents()[1], 1.0, kRidgeError);
}

TEST(ComplexityFit, ComplexitiesThatSayTheSameShareTheWeight) {
  const auto a = complexity(100, 8);
  const ComplexityFit fit(3.0 * a, {a, a});
  EXPECT_NEAR(fit.exponents()[0], 0.5, kRidgeError);
  EXPECT_NEAR(fit.exponents()[1], 0.5, kRidgeError);
}

TEST(ComplexityFit, ItemsWithoutAnyNatsStayFinite) {
  const auto zeros = torch::zeros({10}, torch::kFloat64);
  const ComplexityFit alike(zeros, {zeros});
  EXPECT_TRUE(torch::equal(alike.standardised(zeros, {zeros}), zeros));
  const auto a = complexity(50, 9);
  const ComplexityFit fit(a, {a});
  EXPECT_TRUE(fit.standardised(zeros, {zeros}).isfinite().all().item<bool>());
}

TEST(ComplexityFit, FewerNatsAlwaysScoreLowerAlsoBelowOne) {
  const auto a = complexity(50, 11);
  const ComplexityFit fit((0.7 * a.log() + 0.2 * test::noise({50}, 12)).exp(), {a});
  const auto nats = torch::tensor({-0.5, 0.0, 0.42, 0.80, 1.0, 1.5, 40.0}, torch::kFloat64);
  const auto score = fit.standardised(nats, {torch::full({7}, 50.0, torch::kFloat64)});
  EXPECT_GT(score.diff().min().item<double>(), 0.0);
  EXPECT_NEAR((score[3] - score[2]).item<double>(), 0.38 / fit.spread(), 1e-12);
  EXPECT_NEAR((score[6] - score[4]).item<double>(), std::log(40.0) / fit.spread(), 1e-12);
}

// Images are in this range: the score uses the logarithm itself.
TEST(ComplexityFit, FromOneNatUpTheScoreIsTheLogarithmsResidual) {
  const auto a = 30.0 + 70.0 * torch::arange(100, torch::kFloat64) / 99.0;
  const auto nats = a.flip(0) * (1.0 + 0.1 * test::noise({100}, 13)).clamp(0.7, 1.3);
  const ComplexityFit fit(nats, {a});
  const auto wanted = (nats.log() - fit.intercept() - fit.exponents()[0] * a.log()) / fit.spread();
  EXPECT_LT(test::max_difference(fit.standardised(nats, {a}), wanted), 1e-12);
  EXPECT_TRUE(torch::equal(fit.standardised(nats, {a}).argsort(), wanted.argsort()));
}

TEST(ComplexityFit, NeedsMoreItemsThanUnknowns) {
  const auto three = complexity(3, 10);
  EXPECT_EQ(test::input_error([&] { ComplexityFit(three, {three}); }),
            "relating nats to complexity needs at least 4 training items, found 3");
}

}  // namespace
}  // namespace segre::complexity_test
