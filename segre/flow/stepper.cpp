#include "segre/flow/stepper.h"

#include "segre/core/error.h"

namespace segre {
namespace {

PlannedStep over(StepKind kind, double t, double t_next) {
  return {kind, Evaluated::velocity, {t, t_next - t, 0, 0, 0}, t_next};
}

template <StepKind kind>
StepPlan runge_kutta(const std::vector<double>& times) {
  StepPlan plan;
  for (size_t k = 0; k + 1 < times.size(); ++k) plan.push_back(over(kind, times[k], times[k + 1]));
  return plan;
}

StepPlan euler(const std::vector<double>& times) {
  StepPlan plan;
  for (size_t k = 0; k + 1 < times.size(); ++k)
    plan.push_back(
        {StepKind::linear, Evaluated::velocity, {times[k], 1.0, times[k + 1] - times[k], 0.0, 0.0}, times[k + 1]});
  return plan;
}

// The field is taken for linear in t through its last two values.
StepPlan adams_bashforth(const std::vector<double>& times) {
  StepPlan plan;
  if (times.size() > 1) plan.push_back(over(StepKind::heun, times[0], times[1]));
  for (size_t k = 1; k + 1 < times.size(); ++k) {
    const double h = times[k + 1] - times[k];
    const double half_ratio = 0.5 * h / (times[k] - times[k - 1]);
    plan.push_back({StepKind::two_step,
                    Evaluated::velocity,
                    {times[k], 1.0, h * (1.0 + half_ratio), -h * half_ratio, 0.0},
                    times[k + 1]});
  }
  return plan;
}

}  // namespace

const std::vector<Stepper>& steppers() {
  static const std::vector<Stepper> all{{"euler", 1, 1, euler},
                                        {"midpoint", 2, 2, runge_kutta<StepKind::midpoint>},
                                        {"heun", 2, 2, runge_kutta<StepKind::heun>},
                                        {"rk4", 4, 4, runge_kutta<StepKind::rk4>},
                                        {"ab2", 2, 1, adams_bashforth}};
  return all;
}

const Stepper& stepper(const std::string& name) {
  std::string names;
  for (const Stepper& candidate : steppers()) {
    if (candidate.name == name) return candidate;
    names += (names.empty() ? "" : ", ") + candidate.name;
  }
  fail_input("scheme '", name, "' is not one of ", names);
}

Integration integrate(const VelocityField& field, torch::Tensor v, const std::vector<double>& times,
                      const Stepper& stepper, const Observer& observe) {
  const StepPlan plan = stepper.plan(times);
  const auto numbers = step_numbers(plan, v.options());
  StepState state{std::move(v), {}};
  if (observe) observe(state.v, times.front());
  for (size_t k = 0; k < plan.size(); ++k) {
    state = take_step(plan[k].kind, field, state, numbers[static_cast<int64_t>(k)]);
    if (observe) observe(state.v, plan[k].t_next);
  }
  return {state.v, n_evaluations(plan)};
}

}  // namespace segre
