#include "segre/sources/toys.h"

#include <cmath>
#include <functional>
#include <numbers>

namespace segre {
namespace {

using std::numbers::pi;

// A density on the square [-1, 1]^2, as probabilities of the grid's cells; the first variable is the column (x), the
// second the row (y), both increasing with the label. A cell's weight is the mean over 3 x 3 points in it.
JointTable tabulate(const std::function<double(double, double)>& density) {
  const Space space = Space::table({{"x", kToyGrid, {}}, {"y", kToyGrid, {}}});
  auto weights = torch::zeros({kToyGrid * kToyGrid}, torch::kFloat64);
  auto* weight = weights.data_ptr<double>();
  constexpr int kPoints = 3;
  const double cell = 2.0 / static_cast<double>(kToyGrid);
  for (int64_t column = 0; column < kToyGrid; ++column)
    for (int64_t row = 0; row < kToyGrid; ++row, ++weight)
      for (int i = 0; i < kPoints; ++i)
        for (int j = 0; j < kPoints; ++j) {
          const double x = -1.0 + cell * (static_cast<double>(column) + (i + 0.5) / kPoints);
          const double y = -1.0 + cell * (static_cast<double>(row) + (j + 0.5) / kPoints);
          *weight += density(x, y);
        }
  return make_joint_table(space, enumerate_labelings(space), weights);
}

double bump(double distance_squared) { return std::exp(-0.5 * distance_squared); }

}  // namespace

JointTable coupled_binary() {
  const Space space = Space::table({{"y1", 2, {}}, {"y2", 2, {}}});
  return make_joint_table(space, enumerate_labelings(space), torch::tensor({45.0, 5.0, 5.0, 45.0}, torch::kFloat64));
}

JointTable gaussian_mixture() {
  constexpr int kComponents = 8;
  constexpr double kRadius = 0.66;
  constexpr double kSigma = 0.07;
  return tabulate([](double x, double y) {
    double sum = 0.0;
    for (int k = 0; k < kComponents; ++k) {
      const double dx = x - kRadius * std::cos(2.0 * pi * k / kComponents);
      const double dy = y - kRadius * std::sin(2.0 * pi * k / kComponents);
      sum += bump((dx * dx + dy * dy) / (kSigma * kSigma));
    }
    return sum;
  });
}

JointTable pinwheel() {
  constexpr int kBlades = 5;
  constexpr double kExtent = 2.0;  // half the side of the square in units of the blade's mean radius
  constexpr double kRadialSigma = 0.3;
  constexpr double kWidthSigma = 0.1;
  constexpr double kSwirl = 0.25;  // turn of exp(radius) * kSwirl radians
  return tabulate([](double x, double y) {
    const double px = kExtent * x;
    const double py = kExtent * y;
    const double turn = kSwirl * std::exp(std::hypot(px, py));
    double sum = 0.0;
    for (int k = 0; k < kBlades; ++k) {
      const double angle = turn + 2.0 * pi * k / kBlades;
      const double radial = std::cos(angle) * px + std::sin(angle) * py - 1.0;
      const double across = -std::sin(angle) * px + std::cos(angle) * py;
      sum += bump(radial * radial / (kRadialSigma * kRadialSigma) + across * across / (kWidthSigma * kWidthSigma));
    }
    return sum;
  });
}

}  // namespace segre
