#pragma once  // internal

#include "segre/flow/sampler_kinds.h"

namespace segre {

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
