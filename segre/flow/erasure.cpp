#include "segre/core/error.h"
#include "segre/flow/sampler_kinds.h"
#include "segre/flow/state_blocks.h"
#include "segre/path/fill.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// Fills in labels a few at a time, each drawn from its marginal given what is known so far. Uses the network at t = 0
// only, where evidence is either infinite or none. One cell per evaluation is any-order autoregression; more at once
// take the cells of a step as independent.
class Erasure final : public Integrator {
 public:
  Erasure(const Flow& flow, const IntegratorOptions& options)
      : flow_(flow),
        n_steps_(std::min(options.steps, flow.space.n_variables())),
        order_(options.order),
        times_{0.0, options.t1},
        marginals_(marginal_blocks(flow)) {
    if (options.steps < 1) fail_input("sample.steps = ", options.steps, ": expected at least 1");
    if (!flow.from_evidence)
      fail_input(
          "sample.sampler = \"erasure\" needs a model with model.form = \"evidence\", which accepts known labels");
  }

  const std::vector<double>& times() const override { return times_; }

 private:
  // Uniform numbers of the cells, [B, n].
  torch::Tensor uniforms(const Departure& from, Purpose purpose, int64_t step) const {
    const int64_t n = flow_.space.n_variables();
    return from.numbers([&](const NumberedRows& rows) {
      return fill_uniform(torch::empty({rows.count, n}, flow_.options), RandomStream(rows.seed, purpose).part(step),
                          rows.first * static_cast<uint64_t>(n));
    });
  }

  Arrival carry(const Departure& from, const Observer& observe) const override {
    const auto& space = flow_.space;
    const int64_t B = from.v_0.size(0);
    if (observe) observe(from.v_0, 0.0);
    Known known = from.known;
    if (!known.labels.defined())
      known.labels = torch::full({B, space.n_variables()}, kUnknown, flow_.options.dtype(torch::kInt64));
    auto all_finite = torch::ones({1}, flow_.options);  // NaN otherwise, so that the integrator notices
    const auto log_marginals = [&](const torch::Tensor& labels) {
      known.labels = labels;
      const auto out = marginals_given(
          flow_, [this](const State& state) { return (*marginals_)(state); }, known, B);
      all_finite = all_finite * (out.exp().sum() * 0.0 + 1.0);
      return out;
    };
    const auto priority = [&](const torch::Tensor& p) {
      if (order_ == FillOrder::random) return uniforms(from, Purpose::fill_order, 0);
      return -reduce_blocks(space, {p}, [](const auto& in) { return in[0].amax(-1); });
    };
    known.labels = fill_unknown(space, known.labels,
                                {.steps = n_steps_,
                                 .log_marginals = log_marginals,
                                 .uniforms = [&](int64_t step) { return uniforms(from, Purpose::erasure, step); },
                                 .priority = priority});
    const auto corner = corners(space, *flow_.path, known.labels.clamp_min(0), flow_.options);
    Arrival arrival{only_open(space, from.known, flow_.path->at(times_.back()).a * corner) * all_finite,
                    torch::full({B}, n_steps_, torch::kInt64), known.labels.clamp_min(0)};
    if (observe) observe(arrival.v, times_.back());
    return arrival;
  }

  Flow flow_;
  int64_t n_steps_;
  FillOrder order_;
  std::vector<double> times_;
  std::shared_ptr<const StateBlocks> marginals_;
};

}  // namespace

SamplerKind erasure_kind() {
  return {.name = "erasure",
          .help = "fills in labels a few at a time, given those before; no flow",
          .plan = {},
          .make = [](const Flow& flow, const IntegratorOptions& options) -> std::unique_ptr<Integrator> {
            return std::make_unique<Erasure>(flow, options);
          },
          .deterministic = false,
          .counts_steps = true};
}

}  // namespace segre
