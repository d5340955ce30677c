#include <limits>

#include "segre/core/error.h"
#include "segre/flow/sampler_kinds.h"
#include "segre/flow/state_blocks.h"
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
      fail_input("sample.sampler = \"erasure\" needs a model with model.form = \"evidence\", which can be told labels");
  }

  const std::vector<double>& times() const override { return times_; }

 private:
  // Uniform numbers of the cells, [B, n].
  torch::Tensor uniforms(const Departure& from, Purpose purpose, int64_t step) const {
    const int64_t n = flow_.space.n_variables();
    return fill_uniform(torch::empty({from.v_0.size(0), n}, flow_.options), RandomStream(from.seed, purpose).part(step),
                        from.first * static_cast<uint64_t>(n));
  }

  torch::Tensor draw(const torch::Tensor& pi, const torch::Tensor& u) const {
    return reduce_blocks(flow_.space, {pi, spread(flow_.space, u)}, [](const auto& in) {
      const auto below = in[0].cumsum(-1);
      return (below <= in[1] * below.narrow(-1, below.size(-1) - 1, 1)).sum(-1).clamp_max(in[0].size(-1) - 1);
    });
  }

  // The first `count` [B, 1] open cells in the order of their priorities: [B, n] bool.
  static torch::Tensor first_cells(const torch::Tensor& priority, const torch::Tensor& open,
                                   const torch::Tensor& count) {
    const auto last = torch::full({1}, std::numeric_limits<float>::infinity(), priority.options());
    const auto rank = torch::where(open, priority, last).argsort(/*stable=*/true, 1, false).argsort(int64_t{1});
    return open.logical_and(rank < count);
  }

  Arrival carry(const Departure& from, const Observer& observe) const override {
    const auto& space = flow_.space;
    const int64_t B = from.v_0.size(0);
    if (observe) observe(from.v_0, 0.0);
    Known known = from.known;
    if (!known.labels.defined())
      known.labels = torch::full({B, space.n_variables()}, kUnknown, flow_.options.dtype(torch::kInt64));
    const auto total = (known.labels == kUnknown).sum(1, /*keepdim=*/true);
    auto filled = torch::zeros_like(total);
    auto all_finite = torch::ones({1}, flow_.options);  // NaN otherwise, so that the integrator notices
    const auto ask = [this](const State& state) { return (*marginals_)(state); };
    for (int64_t step = 0; step < n_steps_; ++step) {
      const auto pi = marginals_given(flow_, ask, known, B).exp();
      all_finite = all_finite * (pi.sum() * 0.0 + 1.0);
      const auto labels = draw(pi, uniforms(from, Purpose::erasure, step));
      const auto best = reduce_blocks(space, {pi}, [](const auto& in) { return in[0].amax(-1); });
      const auto priority = order_ == FillOrder::random ? uniforms(from, Purpose::fill_order, 0) : -best;
      const auto upto = (total * (step + 1)).div(n_steps_, "floor");
      const auto now = first_cells(priority, known.labels == kUnknown, upto - filled);
      known.labels = torch::where(now, labels, known.labels);
      filled = upto;
    }
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
