#pragma once

#include <memory>
#include <string>

#include "segre/space/space.h"

namespace segre {

/// Value and slope of signal and noise at one time: v_t = a u + s z. T is double, or a tensor of times.
template <class T>
struct PathCoefficients {
  T a;   ///< signal a_t
  T s;   ///< noise s_t > 0
  T da;  ///< da/dt
  T ds;  ///< ds/dt
};

/// 1/2 d/dt (a/s)^2 = (a/s^3) (a' s - a s'): times E|u_beta - D|^2 it is the information that arrives at t, in nats.
template <class T>
T information_rate(const PathCoefficients<T>& at) {
  return at.a / (at.s * at.s * at.s) * (at.da * at.s - at.a * at.ds);
}

/// Default probability of misreading any label at the decision time: far below what samples can reveal.
inline constexpr double kDecisionError = 1e-5;

/// A Gaussian probability path on T0: given the labels beta, v_t ~ N(a_t u_beta, s_t^2 1), with
/// u_beta = kappa_i (e_beta_i - 1/c_i) for variable i. The pair (a_t, s_t) and the scale kappa define the path;
/// everything else follows from them:
///
///   evidence        e = (kappa a / s^2) v        log-likelihood ratios of a variable's labels
///   velocity        F = alpha D + (s'/s) v       D: mean endpoint u_beta given v, alpha = a' - a s'/s
///   signal/noise    (a/s)^2
class Path {
 public:
  virtual ~Path() = default;

  /// Coefficients at one time.
  virtual PathCoefficients<double> at(double t) const = 0;
  /// Coefficients at a tensor of times, elementwise.
  virtual PathCoefficients<torch::Tensor> at(const torch::Tensor& t) const = 0;
  /// The time at which a/s has this value >= 0.
  virtual double time_at(double ratio) const = 0;
  /// kappa of a variable with c labels.
  virtual double corner_scale(int64_t n_labels) const = 0;
  /// End time of the path: 1, or infinity.
  virtual double t_end() const = 0;
  /// Its name in configs.
  virtual std::string name() const = 0;
};

/// kappa of every variable, [n].
torch::Tensor variable_scales(const Space& space, const Path& path, torch::TensorOptions options);

/// kappa of every coordinate's variable, [S].
torch::Tensor corner_scales(const Space& space, const Path& path, torch::TensorOptions options);

/// u_beta = kappa_i (e_beta_i - 1/c_i): labels [B, n] -> [B, S].
torch::Tensor corners(const Space& space, const Path& path, const torch::Tensor& labels, torch::TensorOptions options);

/// D = kappa_i (pi_i - 1/c_i): the mean corner under label probabilities pi [*, S] -> [*, S].
torch::Tensor mean_corner(const Space& space, const Path& path, const torch::Tensor& pi);

/// The inverse of mean_corner: label probabilities pi [*, S] of a mean corner D. A variable with one label has 1.
torch::Tensor label_probabilities(const Space& space, const Path& path, const torch::Tensor& D);

/// The factor kappa_i a/s^2 of v in the evidence, per coordinate: t [B] -> [B, S], or one time -> [S].
torch::Tensor evidence_scale(const Space& space, const Path& path, const torch::Tensor& t);

/// F = alpha D + (s'/s) v. v, D [B, S]; t [B] or [1].
torch::Tensor velocity_from_endpoint(const Path& path, const torch::Tensor& D, const torch::Tensor& v,
                                     const torch::Tensor& t);

/// The inverse: D = (F - (s'/s) v) / alpha.
torch::Tensor endpoint_from_velocity(const Path& path, const torch::Tensor& F, const torch::Tensor& v,
                                     const torch::Tensor& t);

/// The matched readout: P(alpha_i = j | v) = softmax_j(kappa_i a v_ij / s^2) at time t, Bayes' rule for the path with a
/// uniform prior. -> log probabilities [B, S].
torch::Tensor matched_readout(const Space& space, const Path& path, const torch::Tensor& v, double t);

/// The first time at which the probability of misreading any of the n variables from v_t is at most `error`
/// (a union bound over all wrong labels: sum_i (c_i - 1) Q(kappa_i a/(s sqrt 2))). Nothing is decided after it, so
/// models stop here.
double decision_time(const Space& space, const Path& path, double error = kDecisionError);

/// The time t1 at which labels are read: `asked`, or the decision time if that is 0. InputError unless it is within the
/// path.
double reading_time(const Space& space, const Path& path, double asked);

}  // namespace segre
