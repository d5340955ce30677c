#include <array>
#include <cmath>

#include "segre/core/captured.h"
#include "segre/core/deadline.h"
#include "segre/core/error.h"
#include "segre/flow/sampler_kinds.h"
#include "segre/flow/state_blocks.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

using Tensors = Captured::Tensors;

// Stages after the first, which reuses the field from the end of the previous step. The last is at the new state.
constexpr int kStages = 6;
constexpr std::array<double, kStages> kNodes{1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0};
constexpr double kWeights[kStages][kStages] = {
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
// Weights of the fifth order minus those of the fourth.
constexpr double kErrorWeights[kStages + 1] = {71.0 / 57600,      0.0,        -71.0 / 16695, 71.0 / 1920,
                                               -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

// Hairer's step control: the factor on a step is safety * error^-alpha * (previous error)^beta, within bounds.
constexpr double kSafety = 0.9;
constexpr double kBeta = 0.04;
constexpr double kAlpha = 0.2 - 0.75 * kBeta;
constexpr double kSmallestFactor = 0.2;
constexpr double kLargestFactor = 5.0;
constexpr double kSmallestError = 1e-4;  // below this the step may grow, however small the error

constexpr double kStretch = 1.01;          // a step that nearly reaches the end is stretched to it
constexpr double kSmallestStep = 1e-7;     // as a share of the whole way; if smaller steps are needed, the field is not
                                           // smooth
constexpr double kGapBeforeTheEnd = 0.01;  // of the path's length

torch::Tensor weighted_sum(const std::vector<torch::Tensor>& k, const double* weights) {
  auto sum = k[0] * weights[0];
  for (size_t j = 1; j < k.size(); ++j)
    if (weights[j] != 0.0) sum.add_(k[j], weights[j]);
  return sum;
}

// Factor on each row's step length, from its current and previous errors in units of the tolerance.
torch::Tensor step_factor(const torch::Tensor& error, const torch::Tensor& error_before,
                          const torch::Tensor& accepted) {
  const auto factor = (kSafety * error.pow(-kAlpha) * error_before.pow(kBeta)).clamp(kSmallestFactor, kLargestFactor);
  return torch::where(accepted, factor, factor.clamp_max(1.0));
}

// Adaptive Dormand-Prince 5(4). Every row has its own time, step and error, so its result does not depend on the other
// rows; rows that have arrived wait for the rest. A finite path is followed up to a hundredth before its end, beyond
// which the pull on v would require ever smaller steps, and lands on D from there. Error if a row has not arrived after
// `most_attempts` attempted steps, or if no step is small enough.
class DormandPrince final : public Integrator {
 public:
  DormandPrince(const Flow& flow, double t1, double tolerance, int64_t most_attempts)
      : flow_(flow),
        tolerance_(tolerance),
        most_attempts_(most_attempts),
        lands_(t1 >= flow.path->t_end()),
        stop_(lands_ ? (1.0 - kGapBeforeTheEnd) * t1 : t1),
        times_{0.0, t1} {
    for (int known = 0; known < kKnownShapes; ++known)
      graphs_.push_back(std::make_unique<Captured>([this, known](const Tensors& rows) { return attempt(rows, known); },
                                                   flow.options.device()));
    if (!(tolerance > 0.0)) fail_input("sample.tolerance = ", tolerance, ": expected a number above 0");
  }

  const std::vector<double>& times() const override { return times_; }

 private:
  // Inputs and outputs of an attempt, in this order; inputs continue with what is known.
  enum Row { kV, kField, kTime, kStep, kError, kEvaluations, kKnown };

  // The mean over the coordinates that the flow carries: x [B, S] -> [B].
  torch::Tensor mean_open(const Known& known, const torch::Tensor& x) const {
    if (!known.labels.defined()) return x.mean(1);
    return x.sum(1) / spread(flow_.space, open_variables(known)).sum(1).clamp_min(1);
  }

  // Attempts one step of every row; rows that have arrived stay unchanged. After the rows it returns [2]
  // bool, whether any is still on its way and whether any step has become too small.
  Tensors attempt(const Tensors& rows, int known_shape) const {
    const Known known = known_from(known_shape, rows, kKnown);
    const auto& v = rows[kV];
    const auto& t = rows[kTime];
    const auto left = stop_ - t;
    const auto active = left > 0;
    const auto arrives = rows[kStep] * kStretch >= left;
    const auto h = torch::where(arrives, left, rows[kStep]);
    const auto h_column = h.unsqueeze(1);
    std::vector<torch::Tensor> k{rows[kField]};
    torch::Tensor end;
    for (int stage = 0; stage < kStages; ++stage) {
      end = torch::addcmul(v, weighted_sum(k, kWeights[stage]), h_column);
      k.push_back(flow_.velocity({end, torch::add(t, h, kNodes[stage]), known}));
    }
    const auto scale = tolerance_ * (1.0 + torch::maximum(v.abs(), end.abs()));
    const auto squared = (weighted_sum(k, kErrorWeights) * h_column / scale).square();
    const auto error = mean_open(known, squared).sqrt();
    const auto accepted = active.logical_and(error <= 1.0);  // NaN is not accepted
    const auto bounded = torch::nan_to_num(error, 1e9, 1e9).clamp_min(kSmallestError);
    const auto next_h = torch::where(active, h * step_factor(bounded, rows[kError], accepted), rows[kStep]);
    const auto next_t = torch::where(accepted, torch::where(arrives, torch::full_like(t, stop_), t + h), t);
    const auto takes = accepted.unsqueeze(1);
    const auto stuck = active.logical_and(next_h < kSmallestStep * stop_).logical_and(accepted.logical_not());
    return {torch::where(takes, end, v),
            torch::where(takes, k.back(), rows[kField]),
            next_t,
            next_h,
            torch::where(accepted, bounded, rows[kError]),
            rows[kEvaluations] + kStages * active.to(torch::kInt64),
            torch::stack({(next_t < stop_).any(), stuck.any()})};
  }

  Tensors start(const Departure& from) const {
    const auto& v_0 = from.v_0;
    const auto zero = torch::zeros({v_0.size(0)}, flow_.options);
    // Assumes a fifth-order error in the step's share of the way; a step that is far too long costs one attempt.
    const double h = 0.5 * std::pow(tolerance_, 0.2) * stop_;
    return {v_0,
            flow_.velocity({v_0, zero, from.known}),
            zero,
            torch::full_like(zero, std::min(h, stop_)),
            torch::full_like(zero, kSmallestError),
            torch::ones({v_0.size(0)}, zero.options().dtype(torch::kInt64))};
  }

  Arrival carry(const Departure& from, const Observer& observe) const override {
    if (observe) observe(from.v_0, 0.0);
    const int known = shape_of(from.known);
    const Tensors more = tensors_of(from.known);
    Tensors rows = start(from);
    int64_t attempts = 0;
    for (bool on_the_way = true; on_the_way;) {
      check_deadline();
      if (attempts++ == most_attempts_)
        fail("dopri5: ", most_attempts_, " attempted steps with sample.tolerance = ", tolerance_,
             " reached only t = ", rows[kTime].min().item<double>(), " of ", stop_,
             "; raise it, or choose a sampler with fixed steps");
      rows.insert(rows.end(), more.begin(), more.end());
      rows = observe ? attempt(rows, known) : (*graphs_[known])(rows);
      const auto flags = rows.back().to(torch::kCPU);
      rows.pop_back();
      on_the_way = flags[0].item<bool>();
      if (flags[1].item<bool>())
        fail("dopri5: no step is small enough for sample.tolerance = ", tolerance_,
             "; raise it, or choose a sampler with fixed steps");
    }
    Arrival arrival{rows[kV], rows[kEvaluations].to(torch::kCPU)};
    if (lands_) {
      const StepPlan landing{landing_step(*flow_.path, stop_)};
      const auto field = [&](const torch::Tensor& v, const torch::Tensor& t) {
        return flow_.endpoint({v, t, from.known});
      };
      arrival.v = take_step(StepKind::linear, field, {arrival.v, {}}, step_numbers(landing, flow_.options)[0]).v;
      arrival.n_evaluations = arrival.n_evaluations + 1;
    }
    if (observe) observe(arrival.v, times_.back());
    return arrival;
  }

  Flow flow_;
  double tolerance_;
  int64_t most_attempts_;
  bool lands_;   // on D at the path's end
  double stop_;  // time at which steps end
  std::vector<double> times_;
  std::vector<std::unique_ptr<Captured>> graphs_;  // by the shape of what is known
};

}  // namespace

SamplerKind dormand_prince_kind() {
  return {.name = "dopri5",
          .help = "adaptive",
          .order = 5,
          .plan = {},
          .make = [](const Flow& flow, const IntegratorOptions& options) {
            return std::make_unique<DormandPrince>(flow, options.t1, options.tolerance, options.most_attempts);
          }};
}

}  // namespace segre
