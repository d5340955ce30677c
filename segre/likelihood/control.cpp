#include "segre/likelihood/control.h"

#include "segre/simplex/lift.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// Any q works; this floor keeps its logarithm finite if a network gives a label no probability at all.
constexpr double kLeastProbability = 1e-6;

}  // namespace

IndependentControl::IndependentControl(Flow flow)
    : flow_(std::move(flow)),
      t_(flow_.path->time_at(kEvidenceStrength / flow_.path->corner_scale(flow_.space.max_labels()))) {}

torch::Tensor IndependentControl::log_q(const torch::Tensor& labels, const FieldFunction& endpoint) const {
  const auto v = flow_.path->at(t_).a * corners(flow_.space, *flow_.path, labels, flow_.options);
  const auto t = torch::full({v.size(0)}, t_, flow_.options);
  const auto pi = map_blocks(flow_.space, {endpoint(v, t)}, [&](const auto& in) {
    const int64_t c = in[0].size(-1);
    const double kappa = c > 1 ? flow_.path->corner_scale(c) : 1.0;
    return (in[0] / kappa + 1.0 / static_cast<double>(c)).clamp_min(kLeastProbability);
  });
  return log_lift(flow_.space, pi.log() - evidence_scale(flow_.space, *flow_.path, t) * v);
}

torch::Tensor IndependentControl::squared_error(const torch::Tensor& log_q, const torch::Tensor& v,
                                                const torch::Tensor& t, const torch::Tensor& corner) const {
  const auto evidence = evidence_scale(flow_.space, *flow_.path, t) * v;
  const auto D = mean_corner(flow_.space, *flow_.path, lift(flow_.space, evidence + log_q));
  return (corner - D).square().sum(1, /*keepdim=*/false, torch::kFloat64);
}

}  // namespace segre
