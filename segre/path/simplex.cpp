#include "segre/path/simplex.h"

#include <cmath>

#include "segre/space/blocks.h"

namespace segre {

torch::Tensor project(const Space& space, const torch::Tensor& x) {
  return map_blocks(space, {x}, [](const auto& in) { return in[0] - in[0].mean(-1, /*keepdim=*/true); });
}

torch::Tensor tangent_basis(int64_t n_labels, torch::TensorOptions options) {
  auto basis = torch::zeros({n_labels, n_labels - 1}, torch::kFloat64);
  auto at = basis.accessor<double, 2>();
  for (int64_t k = 1; k < n_labels; ++k) {
    const double length = std::sqrt(static_cast<double>(k) * static_cast<double>(k + 1));
    for (int64_t j = 0; j < k; ++j) at[j][k - 1] = 1.0 / length;
    at[k][k - 1] = -static_cast<double>(k) / length;
  }
  return basis.to(options);
}

torch::Tensor squared_norm(const torch::Tensor& x) { return x.square().sum(-1); }

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

torch::Tensor replicator(const Space& space, const torch::Tensor& W, const torch::Tensor& x) {
  return map_blocks(space, {W, x}, [](const auto& in) {
    const auto mean = (in[0] * in[1]).sum(-1, /*keepdim=*/true);
    return in[0] * (in[1] - mean);
  });
}

torch::Tensor fisher_rao_squared(const Space& space, const torch::Tensor& W, const torch::Tensor& x) {
  return reduce_blocks(space, {W, x}, [](const auto& in) {
    // Centred before squaring: the difference of two large means would cancel.
    const auto mean = (in[0] * in[1]).sum(-1, /*keepdim=*/true);
    return (in[0] * (in[1] - mean).square()).sum(-1);
  });
}

torch::Tensor fisher_rao_norm(const Space& space, const torch::Tensor& W, const torch::Tensor& x) {
  return fisher_rao_squared(space, W, x).sum(-1).sqrt();
}

torch::Tensor log_segre_map(const Space& space, const torch::Tensor& v) {
  const auto log_W = log_lift(space, v);
  const auto labelings = enumerate_labelings(space);
  torch::Tensor log_T;
  for (int64_t i = 0; i < space.n_variables(); ++i) {
    const auto places = (labelings.select(1, i) + space.offset(i)).to(v.device());
    const auto term = log_W.index_select(-1, places);
    log_T = log_T.defined() ? log_T + term : term;
  }
  return log_T;
}

torch::Tensor log_segre_at(const Space& space, const torch::Tensor& v, const torch::Tensor& labels) {
  return pick(space, log_lift(space, v), labels).sum(-1);
}

torch::Tensor marginalise(const Space& space, const torch::Tensor& p) {
  // One axis per variable; each marginal sums over all the others.
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < space.n_variables(); ++i) shape.push_back(space.n_labels(i));
  const auto joint = p.unflatten(-1, shape);
  const auto n = static_cast<int64_t>(shape.size());
  std::vector<torch::Tensor> marginals;
  for (int64_t i = 0; i < n; ++i) {
    std::vector<int64_t> others;
    for (int64_t k = 0; k < n; ++k)
      if (k != i) others.push_back(k - n);
    marginals.push_back(others.empty() ? joint : joint.sum(others));
  }
  return torch::cat(marginals, -1);
}

torch::Tensor joint_entropy(const torch::Tensor& p) { return -torch::xlogy(p, p).sum(-1); }

}  // namespace segre
