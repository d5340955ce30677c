#include "segre/sources/toys.h"

#include <cmath>
#include <numbers>

#include "segre/eval/total_variation.h"
#include "tests/support/support.h"

namespace segre::toys_test {
namespace {

// Centres of the grid's cells as x and y on [-1, 1], as a table's two variables number them.
struct Points {
  torch::Tensor x, y, p;
  explicit Points(const JointTable& table) : p(table.p) {
    const auto centres = (table.labelings.to(torch::kFloat64) + 0.5) * (2.0 / kToyGrid) - 1.0;
    x = centres.select(1, 0);
    y = centres.select(1, 1);
  }
  torch::Tensor radius() const { return (x.square() + y.square()).sqrt(); }
  // |sum p e^{i k angle}| over the cells of `where`, as a share of their mass: 0 for all k but multiples of the order
  // of a rotational symmetry.
  double harmonic(int k, const torch::Tensor& where) const {
    const auto angle = k * torch::atan2(y, x);
    const auto weight = p * where;
    const double re = (weight * angle.cos()).sum().item<double>();
    const double im = (weight * angle.sin()).sum().item<double>();
    return std::hypot(re, im) / weight.sum().item<double>();
  }
};

// Sums of 8,281 float64 numbers.
constexpr double kRounding = 1e-12;
// The square cuts off about this share of the pinwheel, and the cut is not fivefold.
constexpr double kCutTails = 1e-3;

TEST(Toys, CoupledBinaryHasThePapersNumbers) {
  const auto table = coupled_binary();
  EXPECT_TRUE(torch::equal(table.labelings, torch::tensor({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, torch::kInt64)));
  EXPECT_TRUE(torch::equal(table.p, torch::tensor({0.45, 0.05, 0.05, 0.45}, torch::kFloat64)));
  EXPECT_EQ(table.space.variable_name(0), "y1");
}

TEST(Toys, ThePicturesAreDistributionsOnA91x91Grid) {
  for (const auto& table : {gaussian_mixture(), pinwheel()}) {
    EXPECT_NEAR(table.p.sum().item<double>(), 1.0, kRounding);
    EXPECT_GT(table.p.min().item<double>(), 0.0);
    EXPECT_EQ(table.space.n_variables(), 2);
    EXPECT_EQ(table.space.n_labels(0), 91);
    EXPECT_EQ(table.space.n_labels(1), 91);
  }
}

TEST(Toys, TheMixtureHasTheSymmetriesOfTheSquareExactly) {
  const auto grid = gaussian_mixture().p.view({kToyGrid, kToyGrid});
  EXPECT_LT(test::max_difference(grid, torch::rot90(grid)), kRounding);
  EXPECT_LT(test::max_difference(grid, grid.t()), kRounding);
}

TEST(Toys, TheMixtureHasEightfoldSymmetry) {
  const Points points(gaussian_mixture());
  const auto all = torch::ones_like(points.p);
  for (int k = 1; k < 8; ++k) EXPECT_LT(points.harmonic(k, all), kCutTails) << k;
  EXPECT_GT(points.harmonic(8, all), 0.5) << "eight separate bumps";
}

TEST(Toys, TheMixturesRingHasItsRadiusAndWidth) {
  const Points points(gaussian_mixture());
  // E r^2 = R^2 + 2 sigma^2 with R = 0.66, sigma = 0.07; a cell's width of 0.022 adds less than 1e-4.
  EXPECT_NEAR((points.p * points.radius().square()).sum().item<double>(), 0.66 * 0.66 + 2 * 0.07 * 0.07, 2e-4);
}

TEST(Toys, ThePinwheelHasFivefoldSymmetry) {
  const Points points(pinwheel());
  const auto all = torch::ones_like(points.p);
  for (const int k : {1, 2, 3, 4, 6, 7, 8, 9}) EXPECT_LT(points.harmonic(k, all), kCutTails) << k;
  const auto ring = ((points.radius() - 0.5).abs() < 0.02).to(torch::kFloat64);
  EXPECT_GT(points.harmonic(5, ring), 0.5) << "five separate blades at their mean radius";
}

TEST(Toys, ThePinwheelsBladesAreCurved) {
  // The blades' direction changes with the radius: the fifth harmonic's phase differs between two rings.
  const Points points(pinwheel());
  const auto phase = [&](double radius) {
    const auto weight = points.p * ((points.radius() - radius).abs() < 0.02).to(torch::kFloat64);
    const auto angle = 5 * torch::atan2(points.y, points.x);
    return std::atan2((weight * angle.sin()).sum().item<double>(), (weight * angle.cos()).sum().item<double>()) / 5;
  };
  const double turn = std::remainder(phase(0.6) - phase(0.4), 2 * std::numbers::pi / 5);
  // 0.25 (e^1.2 - e^0.8) = 0.274 radians, up to the rings' width.
  EXPECT_NEAR(turn, 0.274, 0.05);
}

TEST(Toys, TheNoiseFloorOfAMillionSamplesIsKnown) {
  // With a million samples, this is the best that a perfect model can show.
  for (const auto& table : {gaussian_mixture(), pinwheel()}) {
    const double floor = total_variation_floor(table, 1'000'000);
    EXPECT_GT(floor, 0.0165);
    EXPECT_LT(floor, 0.0185);
  }
}

}  // namespace
}  // namespace segre::toys_test
