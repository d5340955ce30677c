#include "segre/train/adam.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "segre/core/error.h"
#include "segre/core/parallel.h"
#include "segre/kernels/adam_kernel.h"
#include "segre/kernels/copy_each.h"
#include "segre/train/parameter_exchange.h"
#include "segre/train/state_names.h"

namespace segre {
namespace {

const torch::Tensor& find(const NamedTensors& state, const std::string& name, const torch::Tensor& like) {
  const auto at = state.find(name);
  if (at == state.end()) fail_input("the checkpoint has no tensor ", name);
  if (at->second.sizes() != like.sizes())
    fail_input("the checkpoint's tensor ", name, " has shape ", at->second.sizes(), ", expected ", like.sizes());
  return at->second;
}

}  // namespace

Adam::Adam(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, const AdamOptions& options,
           std::shared_ptr<StateShares> shares, const Tensors& weights)
    : options_(options), shares_(std::move(shares)) {
  for (size_t k = 0; k < parameters.size(); ++k) {
    const auto& [name, parameter] = parameters[k];
    auto weight = own_numbers(k, weights.empty() ? parameter.detach() : weights[k]);
    if (keeps_numbers() && !weight.is_alias_of(parameter)) weight = weight.clone();  // lets go of the others
    slots_.push_back({name, parameter, weight, {}, {}, {}});
    if (shares_ && shares_->own(k).count() == 0 && !keeps_numbers()) continue;
    Slot& slot = slots_.back();
    slot.m = torch::zeros_like(weight);
    slot.v = torch::zeros_like(weight);
    slot.average = weight.clone();
  }
}

bool Adam::keeps_numbers() const { return shares_ != nullptr && !shares_->keeps_all_weights(); }

// What this rank keeps of x, which has shape and layout of parameter k.
torch::Tensor Adam::own_numbers(size_t k, const torch::Tensor& x) const {
  if (!keeps_numbers()) return x;
  const Rows rows = shares_->own(k);
  return kernels::in_memory_order(x).narrow(0, rows.from, rows.count());
}

kernels::AdamStep Adam::numbers(double lr) const {
  const auto k = static_cast<double>(n_steps_ + 1);
  return {options_.beta1,
          options_.beta2,
          options_.eps,
          lr / (1.0 - std::pow(options_.beta1, k)),
          1.0 / std::sqrt(1.0 - std::pow(options_.beta2, k)),
          std::min(options_.ema, k / (k + 9.0))};
}

// The kernels walk over memory; and a norm has the same bits however autograd, or another rank, laid out the gradient.
void Adam::take_layout_of_weights() {
  for (Slot& slot : slots_)
    if (auto& gradient = slot.parameter.mutable_grad(); gradient.defined())
      gradient = kernels::in_layout_of(slot.weight, gradient);
}

double Adam::gradient_norm(ParameterExchange* exchange) const {
  auto squares = torch::zeros({static_cast<int64_t>(slots_.size())}, torch::kFloat64);
  auto* square = squares.data_ptr<double>();
  for (size_t k = 0; k < slots_.size(); ++k) {
    const auto& gradient = slots_[k].parameter.grad();
    if (!gradient.defined()) continue;
    const auto norm = torch::linalg_vector_norm(gradient, 2, std::nullopt, false, torch::kFloat64).item<double>();
    square[k] = norm * norm;
  }
  if (exchange != nullptr) squares = exchange->spread_numbers(squares);
  double sum = 0.0;
  square = squares.data_ptr<double>();
  for (size_t k = 0; k < slots_.size(); ++k) sum += square[k];
  return std::sqrt(sum);
}

void Adam::step(double lr, ParameterExchange* exchange) {
  const torch::NoGradGuard no_grad;
  const auto step_numbers = numbers(lr);
  take_layout_of_weights();
  const double norm = gradient_norm(exchange);
  if (!std::isfinite(norm))
    fail("the gradient is not finite at step ", n_steps_, "; a smaller train.lr, or train.clip, may help");
  const double scale = options_.clip > 0.0 && norm > options_.clip ? options_.clip / norm : 1.0;
  ++n_steps_;
  int64_t numbers_in_all = 0;
  for (const Slot& slot : slots_) numbers_in_all += slot.weight.numel();
  constexpr int64_t kWorthwhile = 1 << 16;  // numbers; with fewer, waking a thread takes longer
  const auto n_slots = static_cast<int64_t>(slots_.size());
  parallel_for(0, n_slots, numbers_in_all < kWorthwhile ? n_slots : 1, [&](int64_t begin, int64_t end) {
    const torch::NoGradGuard no_grad_here;  // the guard covers only its own thread
    for (int64_t k = begin; k < end; ++k) update(slots_[static_cast<size_t>(k)], step_numbers, scale);
  });
  if (exchange != nullptr) spread_parameters(*exchange);
}

void Adam::spread_parameters(ParameterExchange& exchange) {
  Tensors weights;
  for (const Slot& slot : slots_) weights.push_back(slot.weight);
  exchange.spread(weights);
  for (size_t k = 0; k < slots_.size(); ++k)
    if (const Slot& slot = slots_[k]; !exchange.owns(k) && !slot.parameter.is_alias_of(slot.weight))
      slot.parameter.detach().copy_(slot.weight);
}

void Adam::update(Slot& slot, const kernels::AdamStep& step_numbers, double scale) {
  const auto& gradient = slot.parameter.grad();
  if (!gradient.defined()) return;
  auto scaled = gradient.to(slot.weight.scalar_type());
  if (scale != 1.0) scaled = scaled * scale;
  const bool fused = slot.weight.is_cpu() && slot.weight.scalar_type() == torch::kFloat32;
  const auto update = fused ? kernels::adam_ : kernels::adam_plain_;
  update(slot.weight, scaled, slot.m, slot.v, slot.average, step_numbers);
  if (!slot.parameter.is_alias_of(slot.weight)) slot.parameter.detach().copy_(slot.weight);
  slot.parameter.mutable_grad().reset();
}

std::vector<kernels::AdamSegment> Adam::segments(const Tensors& gradients) const {
  std::vector<kernels::AdamSegment> segments;
  for (size_t k = 0; k < slots_.size(); ++k) {
    const Slot& slot = slots_[k];
    if (!gradients[k].defined()) continue;
    const bool shortened = slot.parameter.scalar_type() != slot.weight.scalar_type();
    segments.push_back({slot.weight, kernels::in_layout_of(slot.weight, gradients[k]), slot.m, slot.v, slot.average,
                        shortened ? own_numbers(k, slot.parameter.detach()) : torch::Tensor()});
  }
  return segments;
}

void Adam::measure_on_device(const Tensors& gradients, const torch::Tensor& norm) const {
  const torch::NoGradGuard no_grad;
  if (const auto all = segments(gradients); all.empty()) {
    norm.zero_();
  } else {
    kernels::squared_norm(all, norm);
  }
}

void Adam::update_on_device(const Tensors& gradients, const torch::Tensor& norm, const torch::Tensor& step_numbers,
                            const torch::Tensor& go) const {
  const torch::NoGradGuard no_grad;
  const auto all = segments(gradients);
  go.mul_(norm.isfinite());
  const auto scale = options_.clip > 0.0 ? (options_.clip / norm.sqrt()).clamp_max(1.0) : torch::ones_like(norm);
  if (!all.empty()) kernels::adam_cuda_(all, step_numbers, scale, go);
}

NamedTensors Adam::by_name(const Tensors& tensors) const {
  NamedTensors out;
  for (size_t k = 0; k < slots_.size(); ++k) out[slots_[k].name] = tensors[k];
  return out;
}

// One part of all slots, in their order, from the ranks that keep it.
Tensors Adam::whole(torch::Tensor Slot::*part, const std::optional<torch::Device>& where) const {
  Tensors parts;
  for (const Slot& slot : slots_) parts.push_back(slot.*part);
  if (!shares_ || (part == &Slot::weight && !keeps_numbers())) return parts;
  return shares_->whole(parts, where);
}

torch::Device Adam::device() const { return slots_.empty() ? torch::kCPU : slots_.front().parameter.device(); }

NamedTensors Adam::weights() const { return by_name(whole(&Slot::weight, device())); }

NamedTensors Adam::average() const { return by_name(whole(&Slot::average, device())); }

NamedTensors Adam::state() const {
  NamedTensors out{{state_names::kStep, torch::tensor(n_steps_, torch::kInt64)}};
  std::optional<torch::Device> where = torch::kCPU;
  if (shares_ && !shares_->is_first()) where.reset();
  for (const auto& [name, part] :
       {std::pair{state_names::kWeights, &Slot::weight}, std::pair{state_names::kMeans, &Slot::m},
        std::pair{state_names::kSquares, &Slot::v}, std::pair{state_names::kAverages, &Slot::average}}) {
    const auto tensors = whole(part, where);
    for (size_t k = 0; k < slots_.size(); ++k)
      out[name + slots_[k].name] =
          tensors[k].defined() ? tensors[k] : torch::zeros({1}, torch::kFloat32).expand(slots_[k].parameter.sizes());
  }
  return out;
}

void Adam::load(const NamedTensors& state) {
  const torch::NoGradGuard no_grad;
  n_steps_ = find(state, state_names::kStep, torch::tensor(n_steps_, torch::kInt64)).item<int64_t>();
  for (size_t k = 0; k < slots_.size(); ++k) {
    Slot& slot = slots_[k];
    const auto take = [&](const std::string& prefix, const torch::Tensor& part) {
      const auto& found = find(state, prefix + slot.name, slot.parameter);
      if (part.defined())
        part.copy_(own_numbers(k, keeps_numbers() ? kernels::in_layout_of(slot.parameter, found) : found));
    };
    take(state_names::kWeights, slot.weight);
    take(state_names::kMeans, slot.m);
    take(state_names::kSquares, slot.v);
    take(state_names::kAverages, slot.average);
    // Rounded copies, and numbers of other ranks.
    if (keeps_numbers() || !slot.parameter.is_alias_of(slot.weight))
      slot.parameter.detach().copy_(find(state, state_names::kWeights + slot.name, slot.parameter));
  }
}

}  // namespace segre
