#pragma once

#include <string>

#include "segre/flow/step.h"

namespace segre {

/// dv/dt = F(v, t), t [1] or [B].
using VelocityField = FieldFunction;

/// A fixed-step scheme in tangent coordinates for any velocity field. The group that acts on the assignment manifold is
/// abelian, so the geometric (Munthe-Kaas) schemes of the paper are these plain ones.
struct Stepper {
  std::string name;
  int order;          ///< global error ~ step^order
  int n_evaluations;  ///< of the field, per step after the first
  /// The steps along a grid of times, rising or falling, of any lengths.
  StepPlan (*plan)(const std::vector<double>& times);
};

/// euler, midpoint, heun, rk4, and ab2: Adams and Bashforth's of two steps, which starts with a step of Heun's.
const std::vector<Stepper>& steppers();

/// The stepper of that name; InputError lists the names.
const Stepper& stepper(const std::string& name);

/// What an integration gives.
struct Integration {
  torch::Tensor v;            ///< [B, S] the state at the last time
  int64_t n_evaluations = 0;  ///< how often the field was evaluated
};

/// Sees states on the way.
using Observer = std::function<void(const torch::Tensor& v, double t)>;

/// Carries v along the grid of times (at least one). `observe`, where given, sees the state at every time of the grid,
/// the first included.
Integration integrate(const VelocityField& field, torch::Tensor v, const std::vector<double>& times,
                      const Stepper& stepper, const Observer& observe = nullptr);

}  // namespace segre
