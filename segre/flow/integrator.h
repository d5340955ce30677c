#pragma once

#include <memory>
#include <string>

#include "segre/flow/flow.h"
#include "segre/flow/stepper.h"

namespace segre {

/// Names of all samplers: the steppers', multistep, dopri5, sde.
const std::vector<std::string>& sampler_names();

/// Throws InputError with the names there are unless this is one of them.
void check_sampler(const std::string& name);

/// Whether a sampler's result is a function of the noise it starts from: all but sde.
bool is_deterministic(const std::string& sampler);

struct IntegratorOptions {
  std::string sampler = "rk4";
  int64_t steps = 5;               ///< of equal length in t; dopri5 chooses its own
  double t1 = 0.0;                 ///< where to stop, up to the path's end
  double tolerance = 1e-3;         ///< error per step, relative to 1 + |v| (dopri5)
  uint64_t seed = 1;               ///< of the noise on the way (sde)
  int64_t most_attempts = 10'000;  ///< at a step, of one batch; dopri5 gives up after so many
};

/// States that have arrived, and what it took.
struct Arrival {
  torch::Tensor v;              ///< [B, S] at t1
  torch::Tensor n_evaluations;  ///< [B] int64 on the CPU: of the field, for each row
};

/// Carries states along a flow from t = 0 to t1. On CUDA one step is a graph (of dopri5: one attempt at a step), so all
/// batches must have the same number of rows; a batch that is observed runs without graphs and may have any.
class Integrator {
 public:
  virtual ~Integrator() = default;
  Integrator() = default;
  Integrator(const Integrator&) = delete;
  Integrator& operator=(const Integrator&) = delete;

  /// v_0 [B, S] are samples number `first` and on: the noise of sde depends on that number and on the step alone.
  /// Error where a state is no longer finite.
  Arrival operator()(const torch::Tensor& v_0, uint64_t first, const Observer& observe = nullptr) const;
  /// The times at which an observer sees all rows, from 0 to t1.
  virtual const std::vector<double>& times() const = 0;

 private:
  virtual Arrival carry(const torch::Tensor& v_0, uint64_t first, const Observer& observe) const = 0;
};

std::unique_ptr<Integrator> make_integrator(const Flow& flow, const IntegratorOptions& options);

/// Adaptive Dormand-Prince 5(4). Every row has its own time, step and error, so its result does not depend on the rows
/// beside it; those that have arrived wait for the last. A path that ends is followed up to a hundredth before its end,
/// where the pull on v would ask for ever smaller steps, and landed on D from there. Error where a row has not arrived
/// after `most_attempts` at a step, or where no step is small enough.
std::unique_ptr<Integrator> make_dormand_prince(const Flow& flow, double t1, double tolerance, int64_t most_attempts);

}  // namespace segre
