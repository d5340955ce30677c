#include "segre/flow/sampler_kinds.h"

#include "segre/config/kinds.h"

namespace segre {

// Defined in runge_kutta.cpp, adams_bashforth.cpp, multistep.cpp, early.cpp, dormand_prince.cpp,
// diffusion.cpp, erasure.cpp.
SamplerKind euler_kind();
SamplerKind midpoint_kind();
SamplerKind heun_kind();
SamplerKind rk4_kind();
SamplerKind adams_bashforth_kind();
SamplerKind multistep_kind();
SamplerKind early_kind();
SamplerKind dormand_prince_kind();
SamplerKind diffusion_kind();
SamplerKind erasure_kind();

const std::vector<SamplerKind>& sampler_kinds() {
  static const std::vector<SamplerKind> all{
      euler_kind(),     midpoint_kind(), heun_kind(),           rk4_kind(),       adams_bashforth_kind(),
      multistep_kind(), early_kind(),    dormand_prince_kind(), diffusion_kind(), erasure_kind(),
  };
  return all;
}

const SamplerKind& sampler_kind(const std::string& name) { return find_kind(sampler_kinds(), name, "sampler"); }

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
