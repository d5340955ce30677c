#include <cmath>

#include "segre/flow/sampler_kinds.h"

namespace segre {
namespace {

// The stochastic process with the flow's marginals: m = (a/s^2) v with the clock gamma = (a/s)^2 has dm = D dgamma +
// dB, so m' = m + (gamma' - gamma) D + sqrt(gamma' - gamma) noise. Its likelihood is the simulation-free bound. It
// starts from m = 0; only the network sees v at t = 0.
StepPlan plan_diffusion(const Path& path, const std::vector<double>& times) {
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

}  // namespace

SamplerKind diffusion_kind() {
  return {.name = "sde",
          .help = "stochastic, with the flow's marginals",
          .plan = plan_diffusion,
          .make = {},
          .deterministic = false};
}

}  // namespace segre
