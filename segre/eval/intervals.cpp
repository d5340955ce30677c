#include "segre/eval/intervals.h"

#include <algorithm>
#include <cmath>

#include "segre/core/error.h"
#include "segre/eval/roc.h"

namespace segre {
namespace {

constexpr double kTwoSided95 = 1.959963984540054;  // 97.5% quantile of the standard normal

torch::Tensor checked(const torch::Tensor& values) {
  if (values.dim() != 1 || values.numel() < 2) fail_input("an interval needs at least two values");
  return values.to(torch::kCPU, torch::kFloat64).contiguous();
}

double error_of_mean(const torch::Tensor& values) {
  return std::sqrt(values.var().item<double>() / static_cast<double>(values.numel()));
}

}  // namespace

Estimate normal_estimate(double value, double standard_error, double least, double most) {
  const double reach = kTwoSided95 * standard_error;
  return {value, std::max(least, value - reach), std::min(most, value + reach)};
}

Estimate share_estimate(int64_t hits, int64_t total) {
  if (total < 1) fail_input("a share needs at least one item");
  const auto n = static_cast<double>(total);
  const double p = static_cast<double>(hits) / n;
  const double z2 = kTwoSided95 * kTwoSided95;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double reach = kTwoSided95 / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  // At the ends the interval is exact; rounding must not move it past them.
  return {p, hits == 0 ? 0.0 : centre - reach, hits == total ? 1.0 : centre + reach};
}

Estimate mean_estimate(const torch::Tensor& values) {
  const auto x = checked(values);
  return normal_estimate(x.mean().item<double>(), error_of_mean(x));
}

Estimate spread_estimate(const torch::Tensor& values) {
  const auto x = checked(values);
  const auto n = static_cast<double>(x.numel());
  const double variance = x.var().item<double>();
  if (variance == 0.0) return {0.0, 0.0, 0.0};
  const double fourth = (x - x.mean()).pow(4).mean().item<double>();
  const double error_of_variance = std::sqrt(std::max(0.0, fourth - variance * variance) / n);
  return normal_estimate(std::sqrt(variance), error_of_variance / (2 * std::sqrt(variance)), 0.0);
}

Estimate difference(const Estimate& x, const Estimate& y) {
  const double value = x.value - y.value;
  return {value, value - std::hypot(x.value - x.low, y.high - y.value),
          value + std::hypot(x.high - x.value, y.value - y.low)};
}

Estimate probability_below(const torch::Tensor& lower, const torch::Tensor& higher) {
  const auto numbers = [](const torch::Tensor& values) {
    const auto x = checked(values);
    return std::vector<double>(x.data_ptr<double>(), x.data_ptr<double>() + x.numel());
  };
  const Roc found = roc(numbers(lower), numbers(higher));
  return {found.auroc, found.low, found.high};
}

Estimate quantile_estimate(const torch::Tensor& values, double q) {
  const auto x = checked(values);
  const auto n = static_cast<double>(x.numel());
  const std::vector<double> all(x.data_ptr<double>(), x.data_ptr<double>() + x.numel());
  const double reach = kTwoSided95 * std::sqrt(q * (1 - q) / n);
  return {quantile_of(all, q), quantile_of(all, q - reach), quantile_of(all, q + reach + 1 / n)};
}

double quantile_of(std::vector<double> values, double q) {
  if (values.empty()) fail_input("a quantile needs at least one value");
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<size_t>(std::clamp(std::ceil(q * n) - 1.0, 0.0, n - 1.0));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return values[rank];
}

}  // namespace segre
