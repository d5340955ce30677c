#include "segre/eval/intervals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "segre/core/error.h"
#include "segre/eval/roc.h"

namespace segre {
namespace {

constexpr double kTwoSided95 = 1.959963984540054;  // 97.5% quantile of the standard normal

torch::Tensor checked(const torch::Tensor& values) {
  if (values.dim() != 1 || values.numel() < 2) fail_input("an interval needs at least two values");
  return values.to(torch::kCPU, torch::kFloat64).contiguous();
}

// Half-width of the interval of a difference, from half-widths x and y.
double reach_of_difference(double x, double y, double correlation) {
  if (correlation == 0.0) return std::hypot(x, y);
  return std::sqrt(std::max(0.0, x * x + y * y - 2.0 * correlation * x * y));
}

double error_of_mean(const torch::Tensor& values) {
  return std::sqrt(values.var().item<double>() / static_cast<double>(values.numel()));
}

}  // namespace

Estimate normal_estimate(double value, double standard_error, double least, double most) {
  const double reach = kTwoSided95 * standard_error;
  return {value, std::max(least, value - reach), std::min(most, value + reach)};
}

Estimate share_estimate(double hits, double n) {
  if (!(n >= 1.0)) fail_input("a share needs at least one item");
  const double p = hits / n;
  const double z2 = kTwoSided95 * kTwoSided95;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double reach = kTwoSided95 / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  // At the ends the interval is exact; rounding must not move it past them.
  return {p, hits == 0.0 ? 0.0 : centre - reach, hits == n ? 1.0 : centre + reach};
}

double total_for_share_below(double share, double most) {
  // The ends u of Wilson's interval solve (u - p)^2 = z^2 u (1 - u)/n.
  return kTwoSided95 * kTwoSided95 * most * (1 - most) / ((most - share) * (most - share));
}

Estimate mean_estimate(const torch::Tensor& values) {
  const auto x = checked(values);
  return normal_estimate(x.mean().item<double>(), error_of_mean(x));
}

Estimate mean_share_estimate(const torch::Tensor& shares) {
  const auto x = checked(shares);
  const double mean = x.mean().item<double>();
  if (mean <= 0.0 || mean >= 1.0) return share_estimate(mean <= 0.0 ? 0 : x.numel(), x.numel());
  return normal_estimate(mean, error_of_mean(x), 0.0, 1.0);
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

Estimate difference(const Estimate& x, const Estimate& y, double correlation) {
  const double value = x.value - y.value;
  return {value, value - reach_of_difference(x.value - x.low, y.high - y.value, correlation),
          value + reach_of_difference(x.high - x.value, y.value - y.low, correlation)};
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

Estimate floor_estimate(const std::vector<double>& values) {
  Estimate floor;
  floor.high = quantile_of(values, 0.95);
  floor.value = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return floor;
}

double quantile_of(std::vector<double> values, double q) {
  if (values.empty()) fail_input("a quantile needs at least one value");
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<size_t>(std::clamp(std::ceil(q * n) - 1.0, 0.0, n - 1.0));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return values[rank];
}

}  // namespace segre
