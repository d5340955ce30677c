#include "segre/flow/flow_plan.h"

namespace segre {

PlannedStep straight_step(const Path& path, double t, double t_next) {
  const auto from = path.at(t);
  const auto to = path.at(t_next);
  const double shrink = to.s / from.s;
  return {StepKind::linear, Evaluated::endpoint, {t, shrink, to.a - from.a * shrink, 0.0, 0.0}, t_next};
}

PlannedStep landing_step(const Path& path, double t) { return straight_step(path, t, path.t_end()); }

StepPlan plan_flow(const SamplerKind& sampler, const Path& path, const std::vector<double>& times) {
  if (times.size() < 2 || times.back() < path.t_end()) return sampler.plan(path, times);
  StepPlan plan = sampler.plan(path, {times.begin(), times.end() - 1});
  plan.push_back(landing_step(path, times[times.size() - 2]));
  return plan;
}

}  // namespace segre
