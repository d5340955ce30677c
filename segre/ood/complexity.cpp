#include "segre/ood/complexity.h"

#include <cmath>

#include "segre/core/error.h"

namespace segre {
namespace {

constexpr double kLeastSpread = 1e-6;  // of a logarithm; anything smaller is rounding
// Added to the diagonal of the correlation matrix, so that redundant complexities share the weight.
constexpr double kRidge = 1e-6;

// log(nats) from 1 nat up; below that its tangent at 1, which keeps rising and is finite even at 0 and below (estimates
// of a few nats scatter around 0).
torch::Tensor logarithm(const torch::Tensor& nats) {
  const auto x = nats.to(torch::kFloat64);
  return torch::where(x < 1.0, x - 1.0, x.clamp_min(1.0).log());
}

}  // namespace

ComplexityFit::ComplexityFit(const torch::Tensor& nats, const std::vector<torch::Tensor>& complexities) {
  const int64_t N = nats.numel();
  const auto K = static_cast<int64_t>(complexities.size());
  if (N < K + 3) fail_input("relating nats to complexity needs at least ", K + 3, " training items, found ", N);
  const auto y = logarithm(nats);
  exponents_.assign(complexities.size(), 0.0);
  intercept_ = y.mean().item<double>();
  if (K > 0) {
    std::vector<torch::Tensor> columns;
    for (const auto& complexity : complexities) columns.push_back(logarithm(complexity));
    const auto x = torch::stack(columns, 1);
    const auto mean = x.mean(0);
    const auto spread = x.std(0, /*unbiased=*/false);
    const auto varies = spread > kLeastSpread;
    const auto z = torch::where(varies, (x - mean) / spread, torch::zeros_like(x));
    const auto matrix = z.t().mm(z) / static_cast<double>(N) + kRidge * torch::eye(K, torch::kFloat64);
    const auto weights = torch::linalg_solve(matrix, z.t().mv(y - y.mean()) / static_cast<double>(N));
    for (int64_t k = 0; k < K; ++k) {
      if (!varies[k].item<bool>()) continue;
      exponents_[static_cast<size_t>(k)] = weights[k].item<double>() / spread[k].item<double>();
      intercept_ -= exponents_[static_cast<size_t>(k)] * mean[k].item<double>();
    }
  }
  const auto rest = residual(nats, complexities);
  spread_ = std::sqrt(rest.square().sum().item<double>() / static_cast<double>(N - K - 1));
  if (!(spread_ > kLeastSpread)) spread_ = 1.0;  // all items are alike: leave the residual unscaled
}

torch::Tensor ComplexityFit::residual(const torch::Tensor& nats, const std::vector<torch::Tensor>& complexities) const {
  auto out = logarithm(nats) - intercept_;
  for (size_t k = 0; k < complexities.size(); ++k) out = out - exponents_[k] * logarithm(complexities[k]);
  return out;
}

torch::Tensor ComplexityFit::standardised(const torch::Tensor& nats,
                                          const std::vector<torch::Tensor>& complexities) const {
  return residual(nats, complexities) / spread_;
}

torch::Tensor ComplexityFit::standardised_error(const torch::Tensor& nats, const torch::Tensor& nats_error) const {
  return nats_error / (nats.clamp_min(1.0) * spread_);  // the slope of logarithm()
}

}  // namespace segre
