#pragma once

#include <array>
#include <vector>

#include "segre/flow/field_function.h"

namespace segre {

/// What one step computes from the field f. Its numbers lie in a tensor, numbers[0] the time t at its start, so that a
/// captured CUDA graph of one step serves all steps of its kind.
enum class StepKind {
  linear,    ///< v' = numbers[1] v + numbers[2] f(v, t) + numbers[4] noise
  two_step,  ///< v' = numbers[1] v + numbers[2] f(v, t) + numbers[3] (f one step earlier)
  midpoint,  ///< Runge-Kutta of that name with h = numbers[1]; so are the next
  heun,
  rk4,
};

/// How often a step evaluates the field.
int n_evaluations(StepKind kind);

/// Which tensor of a flow a step evaluates as its field.
enum class Evaluated { velocity, endpoint };

/// One step of an integration, its numbers worked out ahead.
struct PlannedStep {
  StepKind kind;
  Evaluated field;
  std::array<double, 5> numbers;
  double t_next;       ///< time at its end
  bool noisy = false;  ///< adds noise (linear)
};
using StepPlan = std::vector<PlannedStep>;

/// How often a plan evaluates the field.
int64_t n_evaluations(const StepPlan& plan);

/// The numbers of all steps, [steps, 5].
torch::Tensor step_numbers(const StepPlan& plan, torch::TensorOptions options);

/// What goes from step to step.
struct StepState {
  torch::Tensor v;  ///< [B, S]
  torch::Tensor f;  ///< [B, S] the field at the start of the last step; undefined before the first
};

/// One step: numbers [5]; noise [B, S], or undefined for none.
StepState take_step(StepKind kind, const FieldFunction& field, const StepState& state, const torch::Tensor& numbers,
                    const torch::Tensor& noise = {});

}  // namespace segre
