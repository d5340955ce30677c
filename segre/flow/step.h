#pragma once  // internal

#include <array>
#include <functional>
#include <vector>

#include "segre/core/torch.h"

namespace segre {

/// A tensor at states v [B, S] and times t, [1] for all rows or [B].
using FieldFunction = std::function<torch::Tensor(const torch::Tensor& v, const torch::Tensor& t)>;

/// What one step computes from the field f. Its numbers are in a tensor, with numbers[0] the time t at its start, so
/// that one captured CUDA graph serves all steps of its kind.
enum class StepKind {
  linear,    ///< v' = numbers[1] v + numbers[2] f(v, t) + numbers[4] noise
  two_step,  ///< v' = numbers[1] v + numbers[2] f(v, t) + numbers[3] (f one step earlier)
  midpoint,  ///< the Runge-Kutta step of that name with h = numbers[1]; so are the next ones
  heun,
  rk4,
};

/// Number of field evaluations in a step.
int n_evaluations(StepKind kind);

/// Which tensor of a flow a step evaluates as its field.
enum class Evaluated { velocity, endpoint };

/// One step of an integration, with its numbers computed in advance.
struct PlannedStep {
  StepKind kind;
  Evaluated field;
  std::array<double, 5> numbers;
  double t_next;       ///< time at its end
  bool noisy = false;  ///< adds noise (linear)
};
using StepPlan = std::vector<PlannedStep>;

/// Number of field evaluations in a plan.
int64_t n_evaluations(const StepPlan& plan);

/// The numbers of all steps, [steps, 5].
torch::Tensor step_numbers(const StepPlan& plan, torch::TensorOptions options);

/// A Runge-Kutta step of the velocity from t to t_next.
PlannedStep runge_kutta_step(StepKind kind, double t, double t_next);

/// The state passed from step to step.
struct StepState {
  torch::Tensor v;  ///< [B, S]
  torch::Tensor f;  ///< [B, S] the field at the start of the last step; undefined before the first
};

/// Takes one step: numbers [5]; noise [B, S], undefined if there is none.
StepState take_step(StepKind kind, const FieldFunction& field, const StepState& state, const torch::Tensor& numbers,
                    const torch::Tensor& noise = {});

/// The slopes of the classical fourth-order Runge-Kutta step, given the first, k1: ahead(share, k) is the slope after
/// that share of the step along k. The step is h (k1 + 2 k2 + 2 k3 + k4) / 6.
template <class Ahead>
std::array<torch::Tensor, 4> rk4_slopes(const torch::Tensor& k1, const Ahead& ahead) {
  const torch::Tensor k2 = ahead(0.5, k1);
  const torch::Tensor k3 = ahead(0.5, k2);
  return {k1, k2, k3, ahead(1.0, k3)};
}

/// Receives states along the way.
using Observer = std::function<void(const torch::Tensor& v, double t)>;

/// The result of an integration.
struct Integration {
  torch::Tensor v;            ///< [B, S] the last state
  int64_t n_evaluations = 0;  ///< evaluations of the field
};

/// Carries v [B, S] along a plan of noiseless steps that evaluate `field`. `observe`, if given, receives the state
/// before the first step and after every step.
Integration integrate(const FieldFunction& field, torch::Tensor v, const StepPlan& plan,
                      const Observer& observe = nullptr);

}  // namespace segre
