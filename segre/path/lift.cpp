#include "segre/path/lift.h"

#include "segre/path/tangent.h"
#include "segre/space/blocks.h"

namespace segre {

torch::Tensor lift(const Space& space, const torch::Tensor& v) {
  return map_blocks(space, {v}, [](const auto& in) { return in[0].softmax(-1); });
}

torch::Tensor log_lift(const Space& space, const torch::Tensor& v) {
  return map_blocks(space, {v}, [](const auto& in) { return in[0].log_softmax(-1); });
}

torch::Tensor inverse_lift(const Space& space, const torch::Tensor& W) { return project(space, W.log()); }

torch::Tensor lift_at(const Space& space, const torch::Tensor& p, const torch::Tensor& u) {
  return lift(space, p.log() + u);
}

torch::Tensor inverse_lift_at(const Space& space, const torch::Tensor& p, const torch::Tensor& q) {
  return project(space, q.log() - p.log());
}

torch::Tensor e_exponential(const Space& space, const torch::Tensor& p, const torch::Tensor& v) {
  return lift(space, p.log() + v / p);
}

torch::Tensor e_geodesic(const Space& space, const torch::Tensor& p, const torch::Tensor& q, double t) {
  return lift(space, (1.0 - t) * p.log() + t * q.log());
}

torch::Tensor entropy(const Space& space, const torch::Tensor& v) {
  return reduce_blocks(space, {v}, [](const auto& in) {
    const auto log_W = in[0].log_softmax(-1);
    return -(log_W.exp() * log_W).sum(-1);
  });
}

}  // namespace segre
