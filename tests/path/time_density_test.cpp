#include "segre/path/time_density.h"

#include "tests/support/support.h"

namespace segre::time_density_test {
namespace {

TEST(TimeDensity, IsADensity) {
  const auto weights = torch::tensor({1.0, 0.0, 3.0, 2.0}, torch::kFloat64);
  const TimeDensity density(0.8, weights);
  const auto u = (torch::arange(100'000, torch::kFloat64) + 0.5) / 100'000.0;
  const auto [t, p] = density.at(u);
  // The mean of 1/density over the law is the length of the interval; times rise with u.
  EXPECT_NEAR((1.0 / p).mean().item<double>(), 0.8, 1e-6);
  EXPECT_GE((t.slice(0, 1) - t.slice(0, 0, -1)).min().item<double>(), 0.0);
  EXPECT_LE(t.max().item<double>(), 0.8);
  // A tenth stays uniform, so the empty bin keeps a fortieth of the probability.
  const auto inside = (t >= 0.2).logical_and(t < 0.4).to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(inside, 0.025, 1e-4);
}

TEST(TimeDensity, CutAndContinuedStaysADensity) {
  const TimeDensity density(0.6, torch::arange(1, 9, torch::kFloat64));
  for (const double t1 : {0.3, 0.6, 0.9}) {
    const auto u = (torch::arange(20'000, torch::kFloat64) + 0.5) / 20'000.0;
    const auto [t, p] = density.up_to(t1).at(u);
    EXPECT_NEAR((1.0 / p).mean().item<double>(), t1, 1e-5);
    EXPECT_EQ(density.up_to(t1).t1(), t1);
  }
}

}  // namespace
}  // namespace segre::time_density_test
