#pragma once

#include <string>

#include "segre/flow/step.h"
#include "segre/path/path.h"

namespace segre {

/// The steps of a sampler along a path, times rising from 0. Beside the steppers' names (stepper.h) it knows those that
/// use what is known of the path, with one evaluation of the endpoint D each:
///
///   multistep   second order in the endpoint form: with x = v/s and sigma = a/s the flow is dx/dsigma = D, whose last
///               two values are continued linearly in sigma. The pull (s'/s) v, stiff near the end, is exact.
///   sde         the stochastic process with the flow's marginals: m = (a/s^2) v with the clock gamma = (a/s)^2 has
///               dm = D dgamma + dB, so m' = m + (gamma' - gamma) D + sqrt(gamma' - gamma) noise. Its likelihood is the
///               simulation-free bound. It starts from m = 0: v at t = 0 is only shown to the network.
///
/// A last step that reaches the end of the path lands on D, whatever the sampler: D is where every straight line from
/// v to the end leads, and nothing is evaluated at the end, where s = 0.
StepPlan plan_flow(const std::string& sampler, const Path& path, const std::vector<double>& times);

/// The last step of them: from t to the path's end, onto D.
PlannedStep landing_step(const Path& path, double t);

}  // namespace segre
