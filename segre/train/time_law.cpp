#include "segre/train/time_law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "segre/core/error.h"

namespace segre {
namespace {

constexpr int kBins = 64;
constexpr double kMemory = 0.99;  // decay of the running mean per batch
constexpr double kUniformShare =
    0.1;  // part of the probability that stays uniform: no bin starves, weights stay below 10
const char* const kStateName = "time_law.information";

}  // namespace

TimeLaw::TimeLaw(TimeLawKind kind, std::shared_ptr<const Path> path, double t1, bool reweight)
    : kind_(kind),
      path_(std::move(path)),
      t_max_(kind == TimeLawKind::uniform ? path_->t_end() : t1),
      reweight_(reweight) {
  if (std::isinf(t_max_))
    fail_input("train.time_law = \"uniform\": the ", path_->name(),
               " path has no end; choose \"decision\" or \"information\"");
  if (kind_ != TimeLawKind::uniform) information_.assign(kBins, 1.0);
}

std::vector<double> TimeLaw::shares() const {
  const double total = std::accumulate(information_.begin(), information_.end(), 0.0);
  std::vector<double> out(kBins);
  for (int k = 0; k < kBins; ++k) out[k] = kUniformShare / kBins + (1.0 - kUniformShare) * information_[k] / total;
  return out;
}

TimeLaw::Draw TimeLaw::draw(const RandomStream& random, uint64_t first_item, int64_t count,
                            torch::TensorOptions options) const {
  auto u = fill_uniform(torch::empty({count}), random, first_item);
  // Rounding may reach 1, where the path ends and its noise is 0.
  u = ((u + torch::arange(count)) / static_cast<double>(count)).clamp_max_(1.0 - 0x1p-24);
  auto weight = torch::ones({count});
  if (kind_ != TimeLawKind::information) return {(u * t_max_).to(options), weight.to(options)};
  // Inverse of the piecewise linear distribution function; u rises, so one walk over the bins serves all.
  const auto share = shares();
  auto* time = u.data_ptr<float>();
  auto* importance = weight.data_ptr<float>();
  int bin = 0;
  double before = 0.0;
  for (int64_t b = 0; b < count; ++b) {
    while (bin + 1 < kBins && time[b] >= before + share[bin]) before += share[bin++];
    const double within = std::clamp((time[b] - before) / share[bin], 0.0, 1.0);
    time[b] = static_cast<float>(t_max_ * (bin + within) / kBins);
    if (reweight_) importance[b] = static_cast<float>(1.0 / (kBins * share[bin]));
  }
  return {u.to(options), weight.to(options)};
}

void TimeLaw::learn(const torch::Tensor& t, const torch::Tensor& error) {
  if (kind_ == TimeLawKind::uniform) return;
  const auto times = t.to(torch::kCPU).to(torch::kFloat64).contiguous();
  const auto errors = error.to(torch::kCPU).to(torch::kFloat64).contiguous();
  std::vector<double> sum(kBins, 0.0);
  std::vector<int64_t> n(kBins, 0);
  for (int64_t b = 0; b < times.numel(); ++b) {
    const double at = times.data_ptr<double>()[b];
    const auto point = path_->at(at);
    // 1/2 d/dt (a/s)^2 = (a/s^3) (a' s - a s')
    const double rate = point.a / (point.s * point.s * point.s) * (point.da * point.s - point.a * point.ds);
    const int bin = std::min(kBins - 1, static_cast<int>(at / t_max_ * kBins));
    sum[bin] += rate * errors.data_ptr<double>()[b];
    ++n[bin];
  }
  for (int k = 0; k < kBins; ++k)
    if (n[k] > 0) information_[k] = kMemory * information_[k] + (1.0 - kMemory) * sum[k] / static_cast<double>(n[k]);
}

double TimeLaw::nats() const {
  if (kind_ == TimeLawKind::uniform) return std::numeric_limits<double>::quiet_NaN();
  return t_max_ / kBins * std::accumulate(information_.begin(), information_.end(), 0.0);
}

NamedTensors TimeLaw::state() const {
  if (kind_ == TimeLawKind::uniform) return {};
  return {{kStateName, torch::tensor(information_, torch::kFloat64)}};
}

void TimeLaw::load(const NamedTensors& state) {
  if (kind_ == TimeLawKind::uniform) return;
  const auto at = state.find(kStateName);
  if (at == state.end() || at->second.numel() != kBins)
    fail_input("the checkpoint has no tensor ", kStateName, " of ", kBins, " numbers");
  std::copy_n(at->second.data_ptr<double>(), kBins, information_.begin());
}

}  // namespace segre
