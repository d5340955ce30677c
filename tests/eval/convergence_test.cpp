#include "segre/eval/convergence.h"

#include <cmath>

#include "tests/support/support.h"

namespace segre::convergence_test {
namespace {

TEST(Convergence, MeasuresTheDistanceToTheMeanOfAllDrawsCorrectedForTheSharedOnes) {
  // Two items whose means are -10 and -20.
  const auto weights = torch::tensor({{-9.0, -11.0, -8.0, -12.0}, {-20.0, -20.0, -30.0, -10.0}}, torch::kFloat64);
  const auto points = convergence_of(weights);
  ASSERT_EQ(points.size(), 2U);  // 1 and 2 of 4 draws
  EXPECT_EQ(points[0].draws, 1);
  const double unshared = std::sqrt(1.0 - 1.0 / 4.0);
  EXPECT_NEAR(points[0].mean, 0.5 * (0.1 + 0.0) / unshared, 1e-12);
  EXPECT_NEAR(points[0].sd, 0.1 / std::sqrt(2.0) / unshared, 1e-12);
  EXPECT_EQ(points[1].draws, 2);
  EXPECT_NEAR(points[1].mean, 0.0, 1e-12);
}

TEST(Convergence, FallsLikeTheRootOfTheDraws) {
  const auto weights = test::noise({200, 2000}, 3) - 50.0;
  const auto points = convergence_of(weights);
  EXPECT_EQ(points.back().draws, 1000);
  for (const auto& point : points) {
    // A mean of k draws is off by sqrt(1/k 2/pi)/50 on average. Over 200 items that scatters by
    // sqrt((pi/2 - 1)/200) = 5%; four times this is allowed.
    const double k = static_cast<double>(point.draws);
    const double expected = std::sqrt(1.0 / k * 2.0 / 3.14159265) / 50.0;
    EXPECT_NEAR(point.mean / expected, 1.0, 0.21) << point.draws;
  }
}

TEST(Convergence, MeansBelowOneNatAreComparedInNats) {
  const auto points =
      convergence_of(torch::tensor({{-0.1, 0.1, -0.3, 0.3}, {-0.7, -0.3, -0.5, -0.5}}, torch::kFloat64));
  EXPECT_NEAR(points[0].mean, 0.5 * (0.1 + 0.2) / std::sqrt(0.75), 1e-12);
  EXPECT_NEAR(points[1].mean, 0.0, 1e-12);
}

TEST(Convergence, ASingleItemHasAnErrorAndNoSpread) {
  const auto points = convergence_of(torch::tensor({{-9.0, -11.0}}, torch::kFloat64));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_NEAR(points[0].mean, 0.1 / std::sqrt(0.5), 1e-12);
  EXPECT_TRUE(std::isnan(points[0].sd));
}

}  // namespace
}  // namespace segre::convergence_test
