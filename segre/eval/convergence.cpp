#include "segre/eval/convergence.h"

#include <cmath>
#include <limits>

namespace segre {
namespace {

constexpr double kLeastNats = 1.0;  // smallest divisor of relative errors

double spread_of(const torch::Tensor& values) {
  return values.numel() > 1 ? values.std().item<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<ConvergencePoint> convergence_of(const torch::Tensor& log_weights) {
  constexpr double kPerDecade = 6.0;
  const int64_t K = log_weights.size(1);
  const auto reference = log_weights.mean(1);
  const auto unit = reference.abs().clamp_min(kLeastNats);
  const auto means = log_weights.cumsum(1) / torch::arange(1, K + 1, log_weights.options());
  std::vector<ConvergencePoint> points;
  for (int k = 0;; ++k) {
    const auto draws = static_cast<int64_t>(std::lround(std::pow(10.0, k / kPerDecade)));
    if (2 * draws > K) return points;
    if (!points.empty() && draws == points.back().draws) continue;
    const double shared = 1.0 - static_cast<double>(draws) / static_cast<double>(K);
    const auto error = (means.select(1, draws - 1) - reference).abs() / unit / std::sqrt(shared);
    points.push_back({draws, error.mean().item<double>(), spread_of(error)});
  }
}

}  // namespace segre
