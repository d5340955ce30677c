#pragma once  // internal

#include <memory>
#include <string>

#include "segre/flow/flow.h"
#include "segre/flow/step.h"

namespace segre {

/// Which cells the erasure sampler fills in first.
enum class FillOrder {
  random,      ///< any, independent of the labels
  confidence,  ///< those whose most likely label is most likely
};

/// How to carry states along a flow.
struct IntegratorOptions {
  std::string sampler = "rk4";          ///< see sampler_kinds()
  int64_t steps = 5;                    ///< of equal length in t; dopri5 chooses its own
  double t1 = 0.0;                      ///< when to stop, at most the path's end
  double tolerance = 1e-3;              ///< error per step, relative to 1 + |v| (dopri5)
  FillOrder order = FillOrder::random;  ///< of cells (erasure)
  int64_t most_attempts = 10'000;       ///< maximum number of attempted steps per batch (dopri5)
};

/// Rows that are samples `first`, `first` + 1, ... of a seed.
struct NumberedRows {
  int64_t count = 0;
  uint64_t first = 0;
  uint64_t seed = 1;
};

/// Where a batch starts.
struct Departure {
  torch::Tensor v_0;   ///< [B, S] at t = 0
  uint64_t first = 0;  ///< the rows are samples `first`, `first` + 1, ...
  uint64_t seed = 1;   ///< of the noise on the way (sde, erasure), which depends only on it, the sample and the step
  Known known{};       ///< of the rows
  std::vector<NumberedRows> parts{};  ///< if not empty, which samples the rows are instead of `first` and `seed`

  /// Random numbers of all rows: draw(rows) gives [rows.count, ...] for consecutive samples of one seed.
  template <class Draw>
  torch::Tensor numbers(const Draw& draw) const {
    if (parts.empty()) return draw(NumberedRows{v_0.size(0), first, seed});
    std::vector<torch::Tensor> all;
    for (const NumberedRows& rows : parts) all.push_back(draw(rows));
    return torch::cat(all);
  }
};

/// States at t1, and their cost.
struct Arrival {
  torch::Tensor v;              ///< [B, S] at t1
  torch::Tensor n_evaluations;  ///< [B] int64 on the CPU: evaluations of the field per row
  torch::Tensor labels{};       ///< [B, n] int64, if the sampler draws labels itself; else they are read from v
};

/// Carries states along a flow from t = 0 to t1. On CUDA each step (in dopri5, each attempted step) is a graph, so all
/// batches must have the same number of rows; an observed batch runs without graphs and may have any number.
class Integrator {
 public:
  virtual ~Integrator() = default;
  Integrator() = default;
  Integrator(const Integrator&) = delete;
  Integrator& operator=(const Integrator&) = delete;

  /// Error if a state is not finite.
  Arrival operator()(const Departure& from, const Observer& observe = nullptr) const;
  /// The times at which an observer sees all rows, from 0 to t1.
  virtual const std::vector<double>& times() const = 0;

 private:
  virtual Arrival carry(const Departure& from, const Observer& observe) const = 0;
};

/// The integrator named by options.sampler.
std::unique_ptr<Integrator> make_integrator(const Flow& flow, const IntegratorOptions& options);

}  // namespace segre
