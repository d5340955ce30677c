#include "segre/likelihood/control.h"

#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

// Any q works; this floor keeps its logarithm finite if a network gives a label no probability at all.
constexpr double kLeastProbability = 1e-6;

}  // namespace

IndependentControl::IndependentControl(Flow flow)
    : flow_(std::move(flow)),
      t_(flow_.path->time_at(kEvidenceStrength / flow_.path->corner_scale(flow_.space.max_labels()))) {}

torch::Tensor IndependentControl::log_q(const torch::Tensor& labels, const Known& known,
                                        const StateFunction& endpoint) const {
  const auto corner = only_open(flow_.space, known, corners(flow_.space, *flow_.path, labels, flow_.options));
  const auto v = flow_.path->at(t_).a * corner;
  const auto t = torch::full({v.size(0)}, t_, flow_.options);
  const auto pi = label_probabilities(flow_.space, *flow_.path, endpoint({v, t, known})).clamp_min(kLeastProbability);
  return log_lift(flow_.space, pi.log() - evidence_scale(flow_.space, *flow_.path, t) * v);
}

torch::Tensor IndependentControl::endpoint(const torch::Tensor& log_q, const torch::Tensor& v,
                                           const torch::Tensor& t) const {
  const auto evidence = evidence_scale(flow_.space, *flow_.path, t) * v;
  return mean_corner(flow_.space, *flow_.path, lift(flow_.space, evidence + log_q));
}

}  // namespace segre
