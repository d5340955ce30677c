#include "segre/likelihood/calibration.h"

#include <cmath>

namespace segre {

Calibration calibrate(const std::function<ItemScores(uint64_t seed)>& score, int64_t n_seeds, const Space& space,
                      const torch::Tensor& counts, std::optional<double> truth) {
  auto values = torch::empty({n_seeds}, torch::kFloat64);
  auto printed = torch::empty({n_seeds}, torch::kFloat64);
  for (int64_t k = 0; k < n_seeds; ++k) {
    const ScoreSummary summary = summarise(score(static_cast<uint64_t>(k + 1)), space, counts);
    values[k] = summary.log_p;
    printed[k] = std::hypot(summary.estimation_error, summary.integration_error);
  }
  const auto made = values - truth.value_or(values.mean().item<double>());
  const auto within = [&](double reach) {
    return (made.abs() <= reach * printed).to(torch::kFloat64).mean().item<double>();
  };
  const auto rms = [](const torch::Tensor& x) { return std::sqrt(x.square().mean().item<double>()); };
  return {.n_seeds = n_seeds,
          .within_one = within(1.0),
          .within_two = within(2.0),
          .ratio = rms(made) / rms(printed),
          .bias = made.mean().item<double>(),
          .bias_error = made.std().item<double>() / std::sqrt(static_cast<double>(n_seeds))};
}

}  // namespace segre
