#include "segre/path/time_density.h"

namespace segre {

TimeDensity::TimeDensity(double t1) : t1_(t1), shares_(torch::ones({1}, torch::kFloat64)) {}

TimeDensity::TimeDensity(double t1, const torch::Tensor& weights) : t1_(t1) {
  const auto known = weights.to(torch::kCPU, torch::kFloat64);
  const auto bins = static_cast<double>(known.numel());
  shares_ = kUniformShare / bins + (1.0 - kUniformShare) * known / known.sum();
}

TimeDensity TimeDensity::up_to(double t1) const {
  if (t1 == t1_ || shares_.numel() == 1) return t1 == t1_ ? *this : TimeDensity(t1);
  const int64_t bins = shares_.numel();
  const auto centre = (torch::arange(bins, torch::kFloat64) + 0.5) * (t1 / static_cast<double>(bins));
  const auto old_bin = (centre * (static_cast<double>(bins) / t1_)).floor();
  const auto inside = old_bin < static_cast<double>(bins);
  const auto there = shares_.index_select(0, old_bin.clamp_max(static_cast<double>(bins - 1)).to(torch::kInt64));
  return {t1, torch::where(inside, there, torch::zeros_like(there))};
}

TimeDensity::Draw TimeDensity::at(const torch::Tensor& u) const {
  const auto bins = static_cast<double>(shares_.numel());
  const auto [bin, within] = invert_bins(shares_, u);
  const auto share = shares_.index_select(0, bin.flatten()).view(u.sizes());
  return {(bin + within) * (t1_ / bins), share * (bins / t1_)};
}

BinPosition invert_bins(const torch::Tensor& shares, const torch::Tensor& u) {
  const auto below = shares.cumsum(0);
  const auto wanted = u.to(torch::kFloat64);
  const auto bin =
      torch::searchsorted(below, wanted, /*out_int32=*/false, /*right=*/true).clamp_max(shares.numel() - 1);
  const auto share_there = shares.index_select(0, bin.flatten()).view(u.sizes());
  const auto below_there = below.index_select(0, bin.flatten()).view(u.sizes());
  return {bin, ((wanted - below_there) / share_there + 1.0).clamp(0.0, 1.0)};
}

}  // namespace segre
