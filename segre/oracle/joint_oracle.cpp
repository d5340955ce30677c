#include "segre/oracle/joint_oracle.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/data/check_joint.h"
#include "segre/path/path_sample.h"
#include "segre/simplex/lift.h"
#include "segre/simplex/tangent.h"
#include "segre/space/blocks.h"

namespace segre {

JointOracle::JointOracle(JointTable table, std::shared_ptr<const Path> path)
    : table_(std::move(table)), path_(std::move(path)) {
  check_joint(table_);
  if (!path_) fail_input("an oracle needs a path, found none");
  const double cells = static_cast<double>(table_.p.numel()) * static_cast<double>(space().n_coordinates());
  require_memory(8.0 * cells, concat("the oracle of ", table_.p.numel(), " labelings"), torch::kCPU);
  hot_ = one_hot(space(), table_.labelings, torch::kFloat64);
}

torch::Tensor JointOracle::unnormalised_log_posterior(const torch::Tensor& v, const torch::Tensor& t) const {
  const auto e = v * evidence_scale(space(), *path_, t);
  return e.matmul(hot_.to(v.options()).t()) + table_.p.to(v.options()).log();
}

torch::Tensor JointOracle::log_posterior(const torch::Tensor& v, double t) const {
  return unnormalised_log_posterior(v, torch::tensor(t, v.options())).log_softmax(-1);
}

torch::Tensor JointOracle::log_density(const torch::Tensor& v, double t) const {
  // log sum_beta p_beta N(v; a u_beta, s^2 1): the parts of |v - a u_beta|^2 that do not depend on beta factor out.
  const auto at = path_->at(t);
  double corner_squared = 0.0;  // |u_beta|^2 = sum_i kappa_i^2 (1 - 1/c_i)
  for (int64_t i = 0; i < space().n_variables(); ++i) {
    const double kappa = path_->corner_scale(space().n_labels(i));
    corner_squared += kappa * kappa * (1.0 - 1.0 / static_cast<double>(space().n_labels(i)));
  }
  const auto mixture = unnormalised_log_posterior(v, torch::tensor(t, v.options())).logsumexp(-1);
  return reference_log_density(space(), v / at.s) - static_cast<double>(space().n_dims()) * std::log(at.s) -
         0.5 * at.a * at.a / (at.s * at.s) * corner_squared + mixture;
}

torch::Tensor JointOracle::posterior_marginals(const torch::Tensor& v, const torch::Tensor& t) const {
  return unnormalised_log_posterior(v, t).softmax(-1).matmul(hot_.to(v.options()));
}

torch::Tensor JointOracle::posterior_marginals(const torch::Tensor& v, double t) const {
  return posterior_marginals(v, torch::tensor(t, v.options()));
}

torch::Tensor JointOracle::endpoint(const torch::Tensor& v, const torch::Tensor& t) const {
  return mean_corner(space(), *path_, posterior_marginals(v, t));
}

torch::Tensor JointOracle::endpoint(const torch::Tensor& v, double t) const {
  return endpoint(v, torch::tensor(t, v.options()));
}

torch::Tensor JointOracle::velocity(const torch::Tensor& v, double t) const {
  return velocity_from_endpoint(*path_, endpoint(v, t), v, torch::tensor(t, v.options()));
}

torch::Tensor JointOracle::divergence(const torch::Tensor& v, double t) const {
  const auto marginals = posterior_marginals(v, t);
  const auto concentration = reduce_blocks(space(), {marginals}, [](const auto& in) { return in[0].square().sum(-1); });
  const auto kappa = variable_scales(space(), *path_, v.options());
  const auto trace = (kappa.square() * (1.0 - concentration)).sum(-1);
  const auto at = path_->at(t);
  const double pull = at.ds / at.s;
  return (at.da - at.a * pull) * at.a / (at.s * at.s) * trace + static_cast<double>(space().n_dims()) * pull;
}

torch::Tensor JointOracle::log_p(const torch::Tensor& labels) const {
  check_labels(space(), labels);
  // A labeling's row is the one where all n one-hot places agree.
  const auto agree = one_hot(space(), labels, torch::kFloat64).matmul(hot_.t());
  const auto [matches, row] = agree.max(-1);
  const auto found = matches > static_cast<double>(space().n_variables()) - 0.5;
  const auto log_p = table_.p.log().index_select(0, row);
  return torch::where(found, log_p, torch::full_like(log_p, -std::numeric_limits<double>::infinity()));
}

torch::Tensor JointOracle::path_log_weights(const torch::Tensor& labeling, const torch::Tensor& u_0, double t1) const {
  const auto labels = labeling.unsqueeze(0).expand({u_0.size(0), space().n_variables()});
  const auto u_alpha = corners(space(), *path_, labels, u_0.options());
  const auto at = path_->at(t1);
  const auto v = at.a * u_alpha + at.s * u_0;
  const auto log_readout = pick(space(), matched_readout(space(), *path_, v, t1), labels).sum(-1);
  return log_density(v, t1) + log_readout - path_log_density(space(), *path_, v, u_alpha, t1);
}

torch::Tensor matched_readout(const Space& space, const Path& path, const torch::Tensor& v, double t) {
  return log_lift(space, v * evidence_scale(space, path, torch::tensor(t, v.options())));
}

}  // namespace segre
