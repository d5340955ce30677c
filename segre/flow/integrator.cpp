#include "segre/flow/integrator.h"

#include <map>
#include <tuple>

#include "segre/core/captured.h"
#include "segre/core/deadline.h"
#include "segre/flow/sampler_kinds.h"
#include "segre/flow/state_blocks.h"
#include "segre/path/path_sample.h"

namespace segre {
namespace {

using Tensors = Captured::Tensors;

// Steps with the same key do the same work and share a graph; the last number is the shape of what is known.
using StepShape = std::tuple<StepKind, Evaluated, bool, int>;
StepShape shape_of(const PlannedStep& step, int known) { return {step.kind, step.field, step.noisy, known}; }

// Numbers, v, then the previous step's field if the kind uses it, then noise if there is any, then what is known.
Tensors step_inputs(const PlannedStep& step, const StepState& state, const torch::Tensor& numbers,
                    const torch::Tensor& noise, const Known& known) {
  Tensors inputs{numbers, state.v};
  if (step.kind == StepKind::two_step) inputs.push_back(state.f);
  if (step.noisy) inputs.push_back(noise);
  for (const auto& tensor : tensors_of(known)) inputs.push_back(tensor);
  return inputs;
}

Captured::Body body_of(const StepShape& shape, const Flow& flow) {
  return [shape, flow](const Tensors& inputs) -> Tensors {
    const auto [kind, evaluated, noisy, known_shape] = shape;
    size_t next_input = 2;
    const auto previous = kind == StepKind::two_step ? inputs[next_input++] : torch::Tensor();
    const auto noise = noisy ? inputs[next_input++] : torch::Tensor();
    const Known known = known_from(known_shape, inputs, next_input);
    const auto& field = evaluated == Evaluated::endpoint ? flow.endpoint : flow.velocity;
    const auto bound = [&](const torch::Tensor& v, const torch::Tensor& t) { return field({v, t, known}); };
    const StepState next = take_step(kind, bound, {inputs[1], previous}, inputs[0], noise);
    return {next.v, next.f};
  };
}

class FixedSteps final : public Integrator {
 public:
  FixedSteps(const Flow& flow, const IntegratorOptions& options) : flow_(flow) {
    for (int64_t k = 0; k <= options.steps; ++k)
      times_.push_back(options.t1 * static_cast<double>(k) / static_cast<double>(options.steps));
    plan_ = plan_flow(sampler_kind(options.sampler), *flow.path, times_);
    for (size_t k = 0; k < plan_.size(); ++k) times_[k + 1] = plan_[k].t_next;  // a kind may move them
    numbers_ = step_numbers(plan_, flow.options);
    for (const PlannedStep& step : plan_)
      for (int known = 0; known < kKnownShapes; ++known)
        graphs_.try_emplace(shape_of(step, known), body_of(shape_of(step, known), flow), flow.options.device());
  }

  const std::vector<double>& times() const override { return times_; }

 private:
  Arrival carry(const Departure& from, const Observer& observe) const override {
    StepState state{from.v_0, {}};
    if (observe) observe(state.v, 0.0);
    for (size_t k = 0; k < plan_.size(); ++k) {
      check_deadline();
      const auto inputs = step_inputs(plan_[k], state, numbers_[static_cast<int64_t>(k)],
                                      plan_[k].noisy ? noise(k, from) : torch::Tensor(), from.known);
      const StepShape shape = shape_of(plan_[k], segre::shape_of(from.known));
      const Tensors next = observe ? body_of(shape, flow_)(inputs) : graphs_.at(shape)(inputs);
      state = {next[0], next[1]};
      if (observe) observe(state.v, plan_[k].t_next);
    }
    return {state.v, torch::full({from.v_0.size(0)}, n_evaluations(plan_), torch::kInt64)};
  }

  // Each step has its own stream.
  torch::Tensor noise(size_t step, const Departure& from) const {
    const auto all = from.numbers([&](const NumberedRows& rows) {
      const auto random = RandomStream(rows.seed, Purpose::diffusion_noise).part(static_cast<int64_t>(step));
      return reference_noise(flow_.space, random, rows.first, rows.count, flow_.options);
    });
    return only_open(flow_.space, from.known, all);
  }

  Flow flow_;
  std::vector<double> times_;
  StepPlan plan_;
  torch::Tensor numbers_;  // [steps, 5]
  std::map<StepShape, Captured> graphs_;
};

}  // namespace

Arrival Integrator::operator()(const Departure& from, const Observer& observe) const {
  const torch::NoGradGuard no_grad;
  Arrival arrival = carry(from, observe);
  if (!arrival.v.isfinite().all().item<bool>())
    fail("sampling produced states that are not finite at t = ", times().back(),
         "; the model's weights may be damaged");
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
