#include "segre/train/adam.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "segre/core/error.h"
#include "segre/core/parallel.h"
#include "segre/kernels/adam_kernel.h"
#include "segre/train/parameter_exchange.h"

namespace segre {
namespace {

const char* const kStepName = "adam.step";

const torch::Tensor& find(const NamedTensors& state, const std::string& name, const torch::Tensor& like) {
  const auto at = state.find(name);
  if (at == state.end()) fail_input("the checkpoint has no tensor ", name);
  if (at->second.sizes() != like.sizes())
    fail_input("the checkpoint's tensor ", name, " has shape ", at->second.sizes(), ", expected ", like.sizes());
  return at->second;
}

torch::Tensor in_layout_of(const torch::Tensor& weight, const torch::Tensor& gradient) {
  if (gradient.strides() == weight.strides()) return gradient;
  return torch::empty_like(weight, gradient.options()).copy_(gradient);
}

}  // namespace

Adam::Adam(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, const AdamOptions& options,
           std::shared_ptr<ParameterExchange> exchange)
    : options_(options), exchange_(std::move(exchange)) {
  for (const auto& [name, parameter] : parameters) {
    slots_.push_back({name, parameter, parameter.detach(), {}, {}, {}});
    if (!is_own(slots_.size() - 1)) continue;
    Slot& slot = slots_.back();
    slot.m = torch::zeros_like(slot.weight);
    slot.v = torch::zeros_like(slot.weight);
    slot.average = slot.weight.clone();
  }
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

bool Adam::is_own(size_t k) const { return exchange_ == nullptr || exchange_->owns(k); }

// The kernels walk over memory; and a norm has the same bits however autograd, or another rank, laid out the gradient.
void Adam::take_layout_of_weights() {
  for (Slot& slot : slots_)
    if (auto& gradient = slot.parameter.mutable_grad(); gradient.defined())
      gradient = in_layout_of(slot.weight, gradient);
}

double Adam::gradient_norm() const {
  auto squares = torch::zeros({static_cast<int64_t>(slots_.size())}, torch::kFloat64);
  auto* square = squares.data_ptr<double>();
  for (size_t k = 0; k < slots_.size(); ++k) {
    const auto& gradient = slots_[k].parameter.grad();
    if (!gradient.defined()) continue;
    const auto norm = torch::linalg_vector_norm(gradient, 2, std::nullopt, false, torch::kFloat64).item<double>();
    square[k] = norm * norm;
  }
  if (exchange_) squares = exchange_->spread_numbers(squares);
  double sum = 0.0;
  square = squares.data_ptr<double>();
  for (size_t k = 0; k < slots_.size(); ++k) sum += square[k];
  return std::sqrt(sum);
}

void Adam::step(double lr) {
  const torch::NoGradGuard no_grad;
  const auto step_numbers = numbers(lr);
  take_layout_of_weights();
  const double norm = gradient_norm();
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
  if (exchange_) spread_parameters();
}

void Adam::spread_parameters() {
  Tensors weights;
  for (const Slot& slot : slots_) weights.push_back(slot.weight);
  exchange_->spread(weights);
  for (size_t k = 0; k < slots_.size(); ++k)
    if (const Slot& slot = slots_[k]; !is_own(k) && !slot.parameter.is_alias_of(slot.weight))
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

void Adam::step_on_device(const std::vector<torch::Tensor>& gradients, const torch::Tensor& step_numbers,
                          const torch::Tensor& go) {
  const torch::NoGradGuard no_grad;
  std::vector<kernels::AdamSegment> segments;
  for (size_t k = 0; k < slots_.size(); ++k) {
    const Slot& slot = slots_[k];
    if (!gradients[k].defined()) continue;
    const bool shortened = slot.parameter.scalar_type() != slot.weight.scalar_type();
    segments.push_back({slot.weight, in_layout_of(slot.weight, gradients[k]), slot.m, slot.v, slot.average,
                        shortened ? slot.parameter.detach() : torch::Tensor()});
  }
  if (segments.empty()) return;
  const auto norm_squared = kernels::squared_norm(segments);
  go.mul_(norm_squared.isfinite());
  const auto scale =
      options_.clip > 0.0 ? (options_.clip / norm_squared.sqrt()).clamp_max(1.0) : torch::ones_like(norm_squared);
  kernels::adam_cuda_(segments, step_numbers, scale, go);
}

NamedTensors Adam::weights() const {
  NamedTensors out;
  for (const Slot& slot : slots_) out[slot.name] = slot.weight;
  return out;
}

// One of m, v and average of all parameters, in the order of the slots, from the ranks that own them.
Tensors Adam::whole(torch::Tensor Slot::*part) const {
  Tensors tensors;
  for (const Slot& slot : slots_)
    tensors.push_back((slot.*part).defined() ? slot.*part : torch::zeros_like(slot.weight));
  if (exchange_) exchange_->spread(tensors);
  return tensors;
}

NamedTensors Adam::average() const {
  NamedTensors out;
  const auto averages = whole(&Slot::average);
  for (size_t k = 0; k < slots_.size(); ++k) out[slots_[k].name] = averages[k];
  return out;
}

NamedTensors Adam::state() const {
  NamedTensors out{{kStepName, torch::tensor(n_steps_, torch::kInt64)}};
  for (const Slot& slot : slots_) out["weights." + slot.name] = slot.weight;
  const bool has_values = exchange_ == nullptr || exchange_->is_first();
  for (const auto& [name, part] :
       {std::pair{"adam.m.", &Slot::m}, std::pair{"adam.v.", &Slot::v}, std::pair{"ema.", &Slot::average}}) {
    const auto tensors = whole(part);
    for (size_t k = 0; k < slots_.size(); ++k)
      out[name + slots_[k].name] =
          has_values ? tensors[k] : torch::zeros({1}, tensors[k].options()).expand(tensors[k].sizes());
  }
  return out;
}

void Adam::load(const NamedTensors& state) {
  const torch::NoGradGuard no_grad;
  n_steps_ = find(state, kStepName, torch::tensor(n_steps_, torch::kInt64)).item<int64_t>();
  for (size_t k = 0; k < slots_.size(); ++k) {
    Slot& slot = slots_[k];
    slot.weight.copy_(find(state, "weights." + slot.name, slot.weight));
    if (!slot.parameter.is_alias_of(slot.weight)) slot.parameter.detach().copy_(slot.weight);
    if (!is_own(k)) continue;
    slot.m.copy_(find(state, "adam.m." + slot.name, slot.m));
    slot.v.copy_(find(state, "adam.v." + slot.name, slot.v));
    slot.average.copy_(find(state, "ema." + slot.name, slot.average));
  }
}

}  // namespace segre
