#pragma once  // internal

#include "segre/flow/flow.h"

namespace segre {

/// A control variate for the simulation-free bound: the same estimate, from the same noise, for a model of independent
/// variables whose answer is known. With label probabilities q, that model's endpoint and posterior are
///
///   D_i = kappa_i (softmax(e_i + log q_i) - 1/c_i),    q(alpha | v_t1) ~ q exp(sum_i e_i),
///
/// and E[-log q(alpha | v_t1)] + int_0^t1 1/2 d/dt(a^2/s^2) E|u_alpha - D|^2 dt = -log q(alpha) holds exactly, for any
/// q. Estimate minus answer has mean 0, so it can be subtracted from the bound's estimate, and removes noise as far as
/// the two models are alike. They are alike if q_i is the model's belief about variable i once the others are half
/// known: q = the label probabilities at the item's own mean state a u_alpha, without the item's own evidence, at the
/// time when kappa a/s is kEvidenceStrength. One evaluation per item; the coefficient is 1, so nothing is fitted and no
/// bias is added.
class IndependentControl {
 public:
  /// The time at which q is read off, as the distance between corners kappa a/s in units of the noise. On six binary
  /// variables and on digits, 1.0 to 2.0 work equally well.
  static constexpr double kEvidenceStrength = 1.32;

  explicit IndependentControl(Flow flow);

  /// log q of items: labels [k, n] on the device, and what is known of them -> [k, S] in the flow's type, uniform for
  /// variables that the flow does not carry. `endpoint` evaluates D.
  torch::Tensor log_q(const torch::Tensor& labels, const Known& known, const StateFunction& endpoint) const;

  /// D of the independent model at states v [R, S] and times t [R]: [R, S].
  torch::Tensor endpoint(const torch::Tensor& log_q, const torch::Tensor& v, const torch::Tensor& t) const;

 private:
  Flow flow_;
  double t_;  // the time at which q is read off
};

}  // namespace segre
