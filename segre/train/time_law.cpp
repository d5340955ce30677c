#include "segre/train/time_law.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/kernels/draw_kernels.h"
#include "segre/train/state_names.h"

namespace segre {
namespace {

constexpr double kMemory = 0.99;             // decay of the running mean per batch
constexpr double kLeastInformation = 1e-12;  // keeps the law proper if every error is 0

}  // namespace

TimeLaw::TimeLaw(TimeLawKind kind, std::shared_ptr<const Path> path, double t1, bool reweight,
                 torch::TensorOptions options)
    : kind_(kind),
      path_(std::move(path)),
      t_max_(kind == TimeLawKind::uniform ? path_->t_end() : t1),
      reweight_(reweight),
      options_(options),
      sum_(torch::zeros({kBins}, options.dtype(torch::kFloat64))),
      mass_(torch::zeros_like(sum_)) {
  if (std::isinf(t_max_))
    fail_input("train.time_law = \"uniform\": the ", path_->name(),
               " path has no end; choose \"decision\" or \"information\"");
}

torch::Tensor TimeLaw::information() const {
  const auto seen = mass_ > 0.0;
  const auto mean = torch::where(seen, sum_ / mass_, torch::zeros_like(sum_));
  const auto typical = mean.sum() / seen.sum().clamp_min(1);
  // A law that has seen nothing, or nothing but zeros, is uniform.
  return torch::where(seen, mean, typical).clamp_min(kLeastInformation);
}

torch::Tensor TimeLaw::uniforms(const RandomStream& random, uint64_t first_item, int64_t count) {
  const auto u = fill_uniform(torch::empty({count}), random, first_item);
  // Rounding may reach 1, where the path ends and its noise is 0.
  return ((u + torch::arange(count)) / static_cast<double>(count)).clamp_max_(1.0 - 0x1p-24);
}

TimeLaw::Draw TimeLaw::at(const torch::Tensor& u) const {
  if (kind_ != TimeLawKind::information) return {(u * t_max_).to(options_), torch::ones_like(u, options_)};
  if (kernels::draws_serve(u) && options_.dtype() == torch::kFloat32) {
    const auto drawn =
        kernels::draw_times({sum_, mass_, t_max_, kUniformShare, kLeastInformation, reweight_}, u.contiguous());
    return {drawn.t, drawn.weight};
  }
  const auto known = information();
  const auto share = kUniformShare / kBins + (1.0 - kUniformShare) * known / known.sum();
  const auto [bin, within] = invert_bins(share, u);
  const auto t = (bin + within) * (t_max_ / kBins);
  const auto share_there = share.index_select(0, bin);
  return {t.to(options_), reweight_ ? (1.0 / (kBins * share_there)).to(options_) : torch::ones_like(u, options_)};
}

void TimeLaw::learn(const torch::Tensor& t, const torch::Tensor& error, const torch::Tensor& which) {
  if (kind_ == TimeLawKind::uniform) return;
  const auto times = t.to(torch::kFloat64);
  const auto point = path_->at(times);
  const auto information = information_rate(point) * error.to(torch::kFloat64);
  // Multiplying by the bins' indicators sums in a fixed order on every device.
  const auto bin = (times * (kBins / t_max_)).to(torch::kInt64).clamp_max(kBins - 1);
  auto is_inside = torch::arange(kBins, bin.options()).unsqueeze(1) == bin;
  if (which.defined()) is_inside = is_inside.logical_and(which);
  const auto inside = is_inside.to(torch::kFloat64);
  const auto count = inside.sum(1);
  const auto seen = count > 0.0;
  const auto mean = inside.mv(information) / count;
  sum_.copy_(torch::where(seen, kMemory * sum_ + (1.0 - kMemory) * mean, sum_));
  mass_.copy_(torch::where(seen, kMemory * mass_ + (1.0 - kMemory), mass_));
}

double TimeLaw::nats() const {
  if (kind_ == TimeLawKind::uniform || mass_.sum().item<double>() == 0.0)
    return std::numeric_limits<double>::quiet_NaN();
  return t_max_ / kBins * information().sum().item<double>();
}

std::vector<std::string> TimeLaw::state_names() { return {state_names::kTimeSum, state_names::kTimeMass}; }

TimeDensity TimeLaw::spread(const NamedTensors& state, double t1) {
  const auto sum = state.find(state_names::kTimeSum);
  const auto mass = state.find(state_names::kTimeMass);
  if (sum == state.end() || mass == state.end()) return TimeDensity(t1);
  for (const auto& at : {sum, mass})
    if (at->second.sizes() != at::IntArrayRef{kBins} || !at->second.isfinite().all().item<bool>())
      fail_input("the checkpoint's tensor ", at->first, " has shape ", at->second.sizes(), ", expected ", kBins,
                 " finite numbers");
  if (mass->second.min().item<double>() <= 0.0) return TimeDensity(t1);
  const auto information = (sum->second.to(torch::kFloat64) / mass->second).clamp_min(0.0);
  if (!(information.sum().item<double>() > 0.0)) return TimeDensity(t1);
  return {t1, information.sqrt()};
}

NamedTensors TimeLaw::state() const {
  if (kind_ == TimeLawKind::uniform) return {};
  return {{state_names::kTimeSum, sum_}, {state_names::kTimeMass, mass_}};
}

void TimeLaw::load(const NamedTensors& state) {
  if (kind_ == TimeLawKind::uniform) return;
  for (const auto& [name, target] :
       {std::pair{state_names::kTimeSum, &sum_}, std::pair{state_names::kTimeMass, &mass_}}) {
    const auto at = state.find(name);
    if (at == state.end() || at->second.numel() != kBins)
      fail_input("the checkpoint has no tensor ", name, " of ", kBins, " numbers");
    target->copy_(at->second);
  }
}

}  // namespace segre
