#include "segre/flow/sampler_kinds.h"

// Runge-Kutta steps, including Euler's.

namespace segre {
namespace {

SamplerKind runge_kutta(const std::string& name, int order, StepKind kind) {
  return {.name = name, .help = {}, .order = order, .plan = [kind](const Path&, const std::vector<double>& times) {
            StepPlan plan;
            for (size_t k = 0; k + 1 < times.size(); ++k)
              plan.push_back(runge_kutta_step(kind, times[k], times[k + 1]));
            return plan;
          }};
}

}  // namespace

SamplerKind euler_kind() {
  return {.name = "euler", .help = {}, .order = 1, .plan = [](const Path&, const std::vector<double>& times) {
            StepPlan plan;
            for (size_t k = 0; k + 1 < times.size(); ++k)
              plan.push_back({StepKind::linear,
                              Evaluated::velocity,
                              {times[k], 1.0, times[k + 1] - times[k], 0.0, 0.0},
                              times[k + 1]});
            return plan;
          }};
}

SamplerKind midpoint_kind() { return runge_kutta("midpoint", 2, StepKind::midpoint); }
SamplerKind heun_kind() { return runge_kutta("heun", 2, StepKind::heun); }
SamplerKind rk4_kind() { return runge_kutta("rk4", 4, StepKind::rk4); }

}  // namespace segre
