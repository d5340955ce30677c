#pragma once

#include <functional>
#include <string>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// dv/dt = F(v, t) for a batch v [B, S] at one time.
using VelocityField = std::function<torch::Tensor(const torch::Tensor& v, double t)>;

/// A one-step Runge-Kutta scheme in tangent coordinates. The group that acts on the assignment manifold is abelian,
/// so the geometric (Munthe-Kaas) schemes of the paper are these plain ones.
struct Stepper {
  std::string name;
  int order;          ///< global error ~ step^order
  int n_evaluations;  ///< of the field, per step
  /// v at t + h from v at t.
  std::function<torch::Tensor(const VelocityField& field, const torch::Tensor& v, double t, double h)> step;
};

/// All steppers: euler, midpoint, heun, rk4.
const std::vector<Stepper>& steppers();

/// The stepper of that name; InputError lists the names.
const Stepper& stepper(const std::string& name);

/// What an integration gives.
struct Integration {
  torch::Tensor v;            ///< [B, S] the state at the last time
  int64_t n_evaluations = 0;  ///< how often the field was evaluated
};

/// Carries v along the grid of times (rising or falling, at least one). `observe`, where given, sees the state at every
/// time of the grid, the first included.
Integration integrate(const VelocityField& field, torch::Tensor v, const std::vector<double>& times,
                      const Stepper& stepper,
                      const std::function<void(const torch::Tensor& v, double t)>& observe = nullptr);

}  // namespace segre
