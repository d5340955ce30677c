#include "segre/flow/integrator.h"

#include <map>
#include <tuple>

#include "segre/core/captured.h"
#include "segre/core/error.h"
#include "segre/flow/flow_plan.h"
#include "segre/path/path_sample.h"

namespace segre {
namespace {

using Tensors = Captured::Tensors;

// Steps with the same key do the same work and share a graph.
using StepShape = std::tuple<StepKind, Evaluated, bool>;
StepShape shape_of(const PlannedStep& step) { return {step.kind, step.field, step.noisy}; }

// Numbers, v, then the previous step's field if the kind uses it, then noise if there is any.
Tensors step_inputs(const PlannedStep& step, const StepState& state, const torch::Tensor& numbers,
                    const torch::Tensor& noise) {
  Tensors inputs{numbers, state.v};
  if (step.kind == StepKind::two_step) inputs.push_back(state.f);
  if (step.noisy) inputs.push_back(noise);
  return inputs;
}

Captured::Body body_of(const StepShape& shape, const Flow& flow) {
  return [shape, flow](const Tensors& inputs) -> Tensors {
    const auto [kind, evaluated, noisy] = shape;
    const auto& field = evaluated == Evaluated::endpoint ? flow.endpoint : flow.velocity;
    const StepState state{inputs[1], kind == StepKind::two_step ? inputs[2] : torch::Tensor()};
    const StepState next = take_step(kind, field, state, inputs[0], noisy ? inputs.back() : torch::Tensor());
    return {next.v, next.f};
  };
}

class FixedSteps final : public Integrator {
 public:
  FixedSteps(const Flow& flow, const IntegratorOptions& options) : flow_(flow), seed_(options.seed) {
    for (int64_t k = 0; k <= options.steps; ++k)
      times_.push_back(options.t1 * static_cast<double>(k) / static_cast<double>(options.steps));
    plan_ = plan_flow(sampler_kind(options.sampler), *flow.path, times_);
    numbers_ = step_numbers(plan_, flow.options);
    for (const PlannedStep& step : plan_)
      graphs_.try_emplace(shape_of(step), body_of(shape_of(step), flow), flow.options.device());
  }

  const std::vector<double>& times() const override { return times_; }

 private:
  Arrival carry(const torch::Tensor& v_0, uint64_t first, const Observer& observe) const override {
    StepState state{v_0, {}};
    if (observe) observe(state.v, 0.0);
    for (size_t k = 0; k < plan_.size(); ++k) {
      const auto inputs = step_inputs(plan_[k], state, numbers_[static_cast<int64_t>(k)],
                                      plan_[k].noisy ? noise(k, first, v_0.size(0)) : torch::Tensor());
      const StepShape shape = shape_of(plan_[k]);
      const Tensors next = observe ? body_of(shape, flow_)(inputs) : graphs_.at(shape)(inputs);
      state = {next[0], next[1]};
      if (observe) observe(state.v, plan_[k].t_next);
    }
    return {state.v, torch::full({v_0.size(0)}, n_evaluations(plan_), torch::kInt64)};
  }

  // Each step has its own stream: the step in the upper half of the stream's number, the purpose in the lower.
  torch::Tensor noise(size_t step, uint64_t first, int64_t count) const {
    RandomStream random(seed_, Purpose::diffusion_noise);
    random.stream |= static_cast<uint64_t>(step) << 32;
    return reference_noise(flow_.space, random, first, count, flow_.options);
  }

  Flow flow_;
  uint64_t seed_;
  std::vector<double> times_;
  StepPlan plan_;
  torch::Tensor numbers_;  // [steps, 5]
  std::map<StepShape, Captured> graphs_;
};

}  // namespace

Arrival Integrator::operator()(const torch::Tensor& v_0, uint64_t first, const Observer& observe) const {
  const torch::NoGradGuard no_grad;
  Arrival arrival = carry(v_0, first, observe);
  if (!arrival.v.isfinite().all().item<bool>())
    fail("sampling gave states that are not finite at t = ", times().back(), "; the model's weights may be damaged");
  arrival.v = arrival.v.clone();  // the next batch overwrites the graph's memory
  return arrival;
}

std::unique_ptr<Integrator> make_integrator(const Flow& flow, const IntegratorOptions& options) {
  const SamplerKind& kind = sampler_kind(options.sampler);
  if (kind.make) return kind.make(flow, options);
  if (options.steps < 1) fail_input("sample.steps = ", options.steps, ": expected at least 1");
  return std::make_unique<FixedSteps>(flow, options);
}

}  // namespace segre
