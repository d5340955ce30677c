#include "segre/train/adam.h"

#include <cmath>

#include "segre/core/error.h"
#include "segre/kernels/adam_kernel.h"
#include "segre/kernels/path_kernels.h"

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

}  // namespace

Adam::Adam(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, const AdamOptions& options)
    : options_(options) {
  for (const auto& [name, weight] : parameters)
    slots_.push_back({name, weight, torch::zeros_like(weight), torch::zeros_like(weight), weight.detach().clone()});
}

void Adam::step(double lr) {
  const torch::NoGradGuard no_grad;
  ++n_steps_;
  const auto k = static_cast<double>(n_steps_);
  const kernels::AdamStep numbers{options_.beta1,
                                  options_.beta2,
                                  options_.eps,
                                  lr / (1.0 - std::pow(options_.beta1, k)),
                                  1.0 / std::sqrt(1.0 - std::pow(options_.beta2, k)),
                                  std::min(options_.ema, k / (k + 9.0))};
  for (Slot& slot : slots_) {
    auto weight = slot.weight.detach();
    const auto& gradient = slot.weight.grad();
    if (!gradient.defined()) continue;
    const auto update = kernels::serves(weight) ? kernels::adam_ : kernels::adam_plain_;
    update(weight, gradient, slot.m, slot.v, slot.average, numbers);
    slot.weight.mutable_grad().reset();
  }
}

NamedTensors Adam::average() const {
  NamedTensors out;
  for (const Slot& slot : slots_) out[slot.name] = slot.average;
  return out;
}

NamedTensors Adam::state() const {
  NamedTensors out{{kStepName, torch::tensor(n_steps_, torch::kInt64)}};
  for (const Slot& slot : slots_) {
    out["adam.m." + slot.name] = slot.m;
    out["adam.v." + slot.name] = slot.v;
    out["ema." + slot.name] = slot.average;
  }
  return out;
}

void Adam::load(const NamedTensors& state) {
  const torch::NoGradGuard no_grad;
  n_steps_ = find(state, kStepName, torch::tensor(n_steps_, torch::kInt64)).item<int64_t>();
  for (Slot& slot : slots_) {
    slot.m.copy_(find(state, "adam.m." + slot.name, slot.m));
    slot.v.copy_(find(state, "adam.v." + slot.name, slot.v));
    slot.average.copy_(find(state, "ema." + slot.name, slot.average));
  }
}

}  // namespace segre
