#include "segre/flow/step.h"

#include "segre/core/error.h"

namespace segre {
namespace {

// The four arguments of every Runge-Kutta step, all [1] except v.
struct Start {
  const FieldFunction& field;
  const torch::Tensor& v;
  torch::Tensor t;
  torch::Tensor h;

  // The field at v + share h k, t + share h.
  torch::Tensor ahead(double share, const torch::Tensor& k) const {
    return field(torch::addcmul(v, k, h, share), torch::add(t, h, share));
  }
};

StepState midpoint(const Start& start) {
  const auto k = start.field(start.v, start.t);
  return {torch::addcmul(start.v, start.ahead(0.5, k), start.h), k};
}

StepState heun(const Start& start) {
  const auto k = start.field(start.v, start.t);
  return {torch::addcmul(start.v, k + start.ahead(1.0, k), start.h, 0.5), k};
}

StepState rk4(const Start& start) {
  const auto [k1, k2, k3, k4] = rk4_slopes(start.field(start.v, start.t),
                                           [&](double share, const torch::Tensor& k) { return start.ahead(share, k); });
  return {torch::addcmul(start.v, k1 + 2.0 * (k2 + k3) + k4, start.h, 1.0 / 6.0), k1};
}

torch::Tensor number(const torch::Tensor& numbers, int64_t k) { return numbers.slice(0, k, k + 1); }

StepState linear(const FieldFunction& field, const torch::Tensor& v, const torch::Tensor& numbers) {
  const auto f = field(v, number(numbers, 0));
  return {torch::addcmul(v * number(numbers, 1), f, number(numbers, 2)), f};
}

}  // namespace

int n_evaluations(StepKind kind) {
  switch (kind) {
    case StepKind::linear:
    case StepKind::two_step:
      return 1;
    case StepKind::midpoint:
    case StepKind::heun:
      return 2;
    case StepKind::rk4:
      return 4;
  }
  fail("no such kind of step");
}

int64_t n_evaluations(const StepPlan& plan) {
  int64_t total = 0;
  for (const PlannedStep& step : plan) total += n_evaluations(step.kind);
  return total;
}

PlannedStep runge_kutta_step(StepKind kind, double t, double t_next) {
  return {kind, Evaluated::velocity, {t, t_next - t, 0, 0, 0}, t_next};
}

torch::Tensor step_numbers(const StepPlan& plan, torch::TensorOptions options) {
  constexpr auto kNumbers = static_cast<int64_t>(std::tuple_size_v<decltype(PlannedStep::numbers)>);
  auto numbers = torch::empty({static_cast<int64_t>(plan.size()), kNumbers}, torch::kFloat64);
  auto* out = numbers.data_ptr<double>();
  for (const PlannedStep& step : plan) out = std::copy(step.numbers.begin(), step.numbers.end(), out);
  return numbers.to(options);
}

StepState take_step(StepKind kind, const FieldFunction& field, const StepState& state, const torch::Tensor& numbers,
                    const torch::Tensor& noise) {
  if (kind == StepKind::linear || kind == StepKind::two_step) {
    StepState next = linear(field, state.v, numbers);
    if (kind == StepKind::two_step) next.v = torch::addcmul(next.v, state.f, number(numbers, 3));
    if (noise.defined()) next.v = torch::addcmul(next.v, noise, number(numbers, 4));
    return next;
  }
  const Start start{field, state.v, number(numbers, 0), number(numbers, 1)};
  if (kind == StepKind::midpoint) return midpoint(start);
  return kind == StepKind::heun ? heun(start) : rk4(start);
}

Integration integrate(const FieldFunction& field, torch::Tensor v, const StepPlan& plan, const Observer& observe) {
  const auto numbers = step_numbers(plan, v.options());
  StepState state{std::move(v), {}};
  if (observe && !plan.empty()) observe(state.v, plan.front().numbers[0]);
  for (size_t k = 0; k < plan.size(); ++k) {
    state = take_step(plan[k].kind, field, state, numbers[static_cast<int64_t>(k)]);
    if (observe) observe(state.v, plan[k].t_next);
  }
  return {state.v, n_evaluations(plan)};
}

}  // namespace segre
