#pragma once

#include <functional>
#include <memory>
#include <string>

#include "segre/flow/integrator.h"
#include "segre/flow/step.h"

namespace segre {

/// A kind of sampler, which carries states along a flow: everything that the rest of segre knows about it. To add one,
/// define it in a new file and list it in sampler_kinds.cpp.
///
/// In tangent coordinates the group that acts on the assignment manifold is abelian, so the paper's geometric
/// (Munthe-Kaas) schemes are the plain ones.
struct SamplerKind {
  std::string name;  ///< the value of sample.sampler
  std::string help;  ///< a few words
  int order = 0;     ///< its error scales with this power of the step length; 0: no fixed order
  /// Its steps along a grid of times before the path's end, rising or falling, with any spacing. Samplers that do not
  /// exploit the path ignore it and work for any velocity field.
  std::function<StepPlan(const Path& path, const std::vector<double>& times)> plan{};
  /// Used instead of `plan` by a sampler that chooses its own steps from sample.tolerance, or does not follow the flow.
  std::function<std::unique_ptr<Integrator>(const Flow& flow, const IntegratorOptions& options)> make{};
  bool deterministic = true;  ///< whether the result depends only on the initial noise
  bool counts_steps = false;  ///< made by `make`, but sample.steps is its number of evaluations

  /// Whether it chooses its own steps.
  bool adaptive() const { return make != nullptr && !counts_steps; }
};

/// All kinds of samplers.
const std::vector<SamplerKind>& sampler_kinds();

/// Looks up a kind by name. InputError lists the names if it is unknown.
const SamplerKind& sampler_kind(const std::string& name);

/// The steps of a sampler along a path at increasing times from 0. With every sampler, a last step that reaches the end
/// of the path lands on D: every straight line from v to the end leads there, and nothing can be evaluated at the end,
/// where s = 0.
StepPlan plan_flow(const SamplerKind& sampler, const Path& path, const std::vector<double>& times);

/// Euler's step in sigma = a/s, dx/dsigma = D with x = v/s: v' = s'/s v + (a' - a s'/s) D. It does not need sigma', so
/// the step may end at s = 0.
PlannedStep straight_step(const Path& path, double t, double t_next);

/// The step from t to the path's end, onto D.
PlannedStep landing_step(const Path& path, double t);

}  // namespace segre
