#include "segre/flow/sampler_kinds.h"

namespace segre {
namespace {

// Extrapolates the field linearly in t from its last two values.
StepPlan plan_two_step(const Path& /*path*/, const std::vector<double>& times) {
  StepPlan plan;
  if (times.size() > 1) plan.push_back(runge_kutta_step(StepKind::heun, times[0], times[1]));
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

SamplerKind adams_bashforth_kind() {
  return {.name = "ab2", .help = "two-step Adams-Bashforth", .order = 2, .plan = plan_two_step};
}

}  // namespace segre
