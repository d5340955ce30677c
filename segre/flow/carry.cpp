#include "segre/flow/carry.h"

#include "segre/flow/step.h"

namespace segre {

Carrier::Carrier(Flow flow) : flow_(std::move(flow)), endpoint_(endpoint_blocks(flow_)) {}

torch::Tensor Carrier::endpoint(const torch::Tensor& x, double t, const Known& known) const {
  return (*endpoint_)({x * flow_.path->at(t).s, torch::full({x.size(0)}, t, x.options()), known});
}

torch::Tensor Carrier::operator()(torch::Tensor x, double from, double to, int64_t n_steps, const Known& known) const {
  const torch::NoGradGuard no_grad;
  const auto sigma_at = [this](double t) {
    const auto at = flow_.path->at(t);
    return at.a / at.s;
  };
  const double first = sigma_at(from);
  const double h = (sigma_at(to) - first) / static_cast<double>(n_steps);
  const auto slope = [&](const torch::Tensor& y, double sigma) {
    return endpoint(y, flow_.path->time_at(sigma), known);
  };
  for (int64_t k = 0; k < n_steps; ++k) {
    const double sigma = first + h * static_cast<double>(k);
    const auto [k1, k2, k3, k4] = rk4_slopes(slope(x, sigma), [&](double share, const torch::Tensor& d) {
      return slope(x + share * h * d, sigma + share * h);
    });
    x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  }
  return x;
}

}  // namespace segre
