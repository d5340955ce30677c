#include "segre/eval/convergence.h"

#include <cmath>

namespace segre {

std::vector<ConvergencePoint> convergence_of(const torch::Tensor& log_weights) {
  constexpr double kPerDecade = 6.0;
  const auto reference = log_weights.mean(1);
  const auto means = log_weights.cumsum(1) / torch::arange(1, log_weights.size(1) + 1, log_weights.options());
  std::vector<ConvergencePoint> points;
  for (int k = 0;; ++k) {
    const auto draws = static_cast<int64_t>(std::lround(std::pow(10.0, k / kPerDecade)));
    if (2 * draws > log_weights.size(1)) return points;
    if (!points.empty() && draws == points.back().draws) continue;
    const auto error = ((means.select(1, draws - 1) - reference) / reference).abs();
    points.push_back({draws, error.mean().item<double>(), error.std().item<double>()});
  }
}

}  // namespace segre
