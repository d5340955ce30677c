#include "segre/model/joint_oracle.h"

#include <cmath>
#include <limits>

#include "segre/core/error.h"
#include "segre/core/memory.h"
#include "segre/data/joint_table.h"
#include "segre/path/path_sample.h"
#include "segre/path/simplex.h"
#include "segre/space/blocks.h"

namespace segre {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The factor kappa_i a/s^2 of v with a time for each variable: t [B, n] -> [B, S].
torch::Tensor own_scale(const Space& space, const Path& path, const torch::Tensor& t) {
  const auto at = path.at(t);
  return spread(space, at.a / at.s.square()) * corner_scales(space, path, t.options());
}

// 0 for labelings that agree with the known labels, -inf for the others: [B, R], hot [R, S] one-hot labelings.
torch::Tensor excluded(const Space& space, const Known& known, const torch::Tensor& hot) {
  const auto is_known = (known.labels >= 0).to(hot.options());
  const auto asked = one_hot(space, known.labels.clamp_min(0), hot.options()) * spread(space, is_known);
  const auto agree = asked.matmul(hot.t()) > is_known.sum(1, /*keepdim=*/true) - 0.5;
  return torch::where(agree, torch::zeros({1}, hot.options()), torch::full({1}, kNever, hot.options()));
}

// log of the probability of what is known, per row.
void require_possible(const torch::Tensor& log_p) {
  if (!log_p.isfinite().all().item<bool>()) fail_input("what is known has probability 0 under the joint distribution");
}

}  // namespace

JointTable conditional(const JointTable& table, const Known& known) {
  const auto hot = one_hot(table.space, table.labelings, torch::kFloat64);
  auto log_p = table.p.log();
  if (known.soft.defined()) log_p = log_p + hot.mv(known.soft.to(torch::kFloat64)[0]);
  if (known.labels.defined()) log_p = log_p + excluded(table.space, known, hot)[0];
  const auto total = log_p.logsumexp(0);
  require_possible(total);
  const auto rows = log_p.isfinite().nonzero().squeeze(1);
  const auto p = (log_p.index_select(0, rows) - total).exp();
  return make_joint_table(table.space, table.labelings.index_select(0, rows), p / p.sum(), table.origin.select(rows));
}

JointOracle::JointOracle(JointTable table, std::shared_ptr<const Path> path)
    : table_(std::move(table)), path_(std::move(path)) {
  check_joint(table_);
  if (!path_) fail_input("an oracle needs a path, found none");
  const double cells = static_cast<double>(table_.p.numel()) * static_cast<double>(space().n_coordinates());
  require_memory(8.0 * cells, concat("the oracle of ", table_.p.numel(), " labelings"), torch::kCPU);
  hot_ = one_hot(space(), table_.labelings, torch::kFloat64);
}

torch::Tensor JointOracle::unnormalised_log_posterior(const State& state) const {
  const auto& [v, t, known, training] = state;
  auto e = only_open(space(), known,
                     v * (t.dim() == 2 ? own_scale(space(), *path_, t) : evidence_scale(space(), *path_, t)));
  if (known.soft.defined()) e = e + known.soft.to(v.options());
  const auto hot = hot_.to(v.options());
  auto log_w = e.matmul(hot.t()) + table_.p.to(v.options()).log();
  if (known.labels.defined()) log_w = log_w + excluded(space(), known, hot);
  return log_w;
}

torch::Tensor JointOracle::log_posterior(const torch::Tensor& v, double t) const {
  return unnormalised_log_posterior({v, torch::tensor(t, v.options())}).log_softmax(-1);
}

torch::Tensor JointOracle::log_density(const torch::Tensor& v, double t) const {
  // log sum_beta p_beta N(v; a u_beta, s^2 1): the parts of |v - a u_beta|^2 that do not depend on beta factor out.
  const auto at = path_->at(t);
  double corner_squared = 0.0;  // |u_beta|^2 = sum_i kappa_i^2 (1 - 1/c_i)
  for (int64_t i = 0; i < space().n_variables(); ++i) {
    const double kappa = path_->corner_scale(space().n_labels(i));
    corner_squared += kappa * kappa * (1.0 - 1.0 / static_cast<double>(space().n_labels(i)));
  }
  const auto mixture = unnormalised_log_posterior({v, torch::tensor(t, v.options())}).logsumexp(-1);
  return reference_log_density(space(), v / at.s) - static_cast<double>(space().n_dims()) * std::log(at.s) -
         0.5 * at.a * at.a / (at.s * at.s) * corner_squared + mixture;
}

torch::Tensor JointOracle::posterior_marginals(const State& state) const {
  const auto log_w = unnormalised_log_posterior(state);
  if (!state.known.nothing()) require_possible(log_w.logsumexp(-1));
  return log_w.softmax(-1).matmul(hot_.to(state.v.options()));
}

torch::Tensor JointOracle::posterior_marginals(const torch::Tensor& v, double t) const {
  return posterior_marginals(State{v, torch::tensor(t, v.options())});
}

torch::Tensor JointOracle::endpoint(const State& state) const {
  return only_open(space(), state.known, mean_corner(space(), *path_, posterior_marginals(state)));
}

torch::Tensor JointOracle::endpoint(const torch::Tensor& v, double t) const {
  return endpoint(State{v, torch::tensor(t, v.options())});
}

torch::Tensor JointOracle::conditional_log_p(const torch::Tensor& labels, const Known& known) const {
  const auto zero = torch::zeros({labels.size(0), space().n_coordinates()}, torch::kFloat64);
  const State before{zero, torch::zeros({1}, torch::kFloat64), known};
  const auto all = unnormalised_log_posterior(before).logsumexp(-1);
  require_possible(all);
  // The labels themselves known too.
  State after = before;
  after.known.labels = known.labels.defined() ? torch::where(known.labels == kUnknown, labels, known.labels) : labels;
  return unnormalised_log_posterior(after).logsumexp(-1) - all;
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

}  // namespace segre
