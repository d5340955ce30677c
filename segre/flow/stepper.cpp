#include "segre/flow/stepper.h"

#include "segre/core/error.h"

namespace segre {
namespace {

torch::Tensor euler(const VelocityField& field, const torch::Tensor& v, double t, double h) {
  return v + h * field(v, t);
}

torch::Tensor midpoint(const VelocityField& field, const torch::Tensor& v, double t, double h) {
  const auto half = v + 0.5 * h * field(v, t);
  return v + h * field(half, t + 0.5 * h);
}

torch::Tensor heun(const VelocityField& field, const torch::Tensor& v, double t, double h) {
  const auto k1 = field(v, t);
  const auto k2 = field(v + h * k1, t + h);
  return v + 0.5 * h * (k1 + k2);
}

torch::Tensor rk4(const VelocityField& field, const torch::Tensor& v, double t, double h) {
  const auto k1 = field(v, t);
  const auto k2 = field(v + 0.5 * h * k1, t + 0.5 * h);
  const auto k3 = field(v + 0.5 * h * k2, t + 0.5 * h);
  const auto k4 = field(v + h * k3, t + h);
  return v + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
}

}  // namespace

const std::vector<Stepper>& steppers() {
  static const std::vector<Stepper> all{
      {"euler", 1, 1, euler}, {"midpoint", 2, 2, midpoint}, {"heun", 2, 2, heun}, {"rk4", 4, 4, rk4}};
  return all;
}

const Stepper& stepper(const std::string& name) {
  std::string names;
  for (const Stepper& candidate : steppers()) {
    if (candidate.name == name) return candidate;
    names += (names.empty() ? "" : ", ") + candidate.name;
  }
  fail_input("sampler '", name, "' is not one of ", names);
}

Integration integrate(const VelocityField& field, torch::Tensor v, const std::vector<double>& times,
                      const Stepper& stepper, const std::function<void(const torch::Tensor& v, double t)>& observe) {
  Integration out{std::move(v), 0};
  if (observe) observe(out.v, times.front());
  for (size_t k = 0; k + 1 < times.size(); ++k) {
    out.v = stepper.step(field, out.v, times[k], times[k + 1] - times[k]);
    out.n_evaluations += stepper.n_evaluations;
    if (observe) observe(out.v, times[k + 1]);
  }
  return out;
}

}  // namespace segre
