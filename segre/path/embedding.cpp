#include "segre/path/embedding.h"

#include "segre/path/lift.h"
#include "segre/space/blocks.h"

namespace segre {

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
