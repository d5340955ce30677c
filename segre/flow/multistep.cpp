#include "segre/flow/sampler_kinds.h"

namespace segre {
namespace {

double sigma(const Path& path, double t) {
  const auto at = path.at(t);
  return at.a / at.s;
}

// With x = v/s and sigma = a/s the flow is dx/dsigma = D; extrapolates D linearly in sigma from its last two values.
// The pull (s'/s) v, stiff near the end, is exact.
StepPlan plan_multistep(const Path& path, const std::vector<double>& times) {
  StepPlan plan;
  for (size_t k = 0; k + 1 < times.size(); ++k) {
    PlannedStep step = straight_step(path, times[k], times[k + 1]);
    if (k > 0) {
      const double half_ratio = 0.5 * (sigma(path, times[k + 1]) - sigma(path, times[k])) /
                                (sigma(path, times[k]) - sigma(path, times[k - 1]));
      step.kind = StepKind::two_step;
      step.numbers[3] = -step.numbers[2] * half_ratio;
      step.numbers[2] *= 1.0 + half_ratio;
    }
    plan.push_back(step);
  }
  return plan;
}

}  // namespace

SamplerKind multistep_kind() {
  return {.name = "multistep", .help = "second order in the endpoint form", .order = 2, .plan = plan_multistep};
}

}  // namespace segre
