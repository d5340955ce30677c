#pragma once  // internal

#include "segre/flow/state_blocks.h"

namespace segre {

/// Carries states along a flow in the coordinates x = v/s, where dx/dt = (alpha/s) D(s x, t): the stiff part of the
/// flow near its end is exact, and the rest is smooth. Uses classical Runge-Kutta steps.
class Carrier {
 public:
  explicit Carrier(Flow flow);

  /// x [R, S] from one time to another, earlier or later, in n_steps steps of sigma.
  torch::Tensor operator()(torch::Tensor x, double from, double to, int64_t n_steps, const Known& known = {}) const;
  /// D at v = s x: [R, S].
  torch::Tensor endpoint(const torch::Tensor& x, double t, const Known& known = {}) const;

 private:
  Flow flow_;
  std::shared_ptr<const StateBlocks> endpoint_;
};

}  // namespace segre
