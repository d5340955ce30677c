#include "segre/flow/flow_plan.h"

#include <cmath>

#include "segre/flow/stepper.h"

namespace segre {
namespace {

// Euler's step in sigma, dx/dsigma = D: v' = s'/s v + (a' - a s'/s) D. Needs no sigma', so s' may be 0.
PlannedStep straight_step(const Path& path, double t, double t_next) {
  const auto from = path.at(t);
  const auto to = path.at(t_next);
  const double shrink = to.s / from.s;
  return {StepKind::linear, Evaluated::endpoint, {t, shrink, to.a - from.a * shrink, 0.0, 0.0}, t_next};
}

double sigma(const Path& path, double t) {
  const auto at = path.at(t);
  return at.a / at.s;
}

StepPlan multistep(const Path& path, const std::vector<double>& times) {
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

StepPlan diffusion(const Path& path, const std::vector<double>& times) {
  StepPlan plan;
  for (size_t k = 0; k + 1 < times.size(); ++k) {
    const auto from = path.at(times[k]);
    const auto to = path.at(times[k + 1]);
    const double gain = to.s * to.s / to.a;  // v' = gain m'
    const double clock = std::pow(to.a / to.s, 2) - std::pow(from.a / from.s, 2);
    plan.push_back({StepKind::linear,
                    Evaluated::endpoint,
                    {times[k], gain * from.a / (from.s * from.s), gain * clock, 0.0, gain * std::sqrt(clock)},
                    times[k + 1],
                    /*noisy=*/true});
  }
  return plan;
}

StepPlan plan_before_the_end(const std::string& sampler, const Path& path, const std::vector<double>& times) {
  if (sampler == "multistep") return multistep(path, times);
  if (sampler == "sde") return diffusion(path, times);
  return stepper(sampler).plan(times);
}

}  // namespace

PlannedStep landing_step(const Path& path, double t) { return straight_step(path, t, path.t_end()); }

StepPlan plan_flow(const std::string& sampler, const Path& path, const std::vector<double>& times) {
  if (times.size() < 2 || times.back() < path.t_end()) return plan_before_the_end(sampler, path, times);
  StepPlan plan = plan_before_the_end(sampler, path, {times.begin(), times.end() - 1});
  plan.push_back(landing_step(path, times[times.size() - 2]));
  return plan;
}

}  // namespace segre
