#include "segre/tasks/check_estimators.h"

#include <cmath>
#include <map>

#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"

namespace segre {
namespace {

// An estimator with the exact flow: scores all labelings of the table for a given seed.
struct Estimator {
  std::string name;
  std::function<ItemScores(uint64_t seed)> score;
  bool exact = true;  // whether its mean is log p itself
};

std::vector<Estimator> estimators_of(const JointOracle& oracle, const CheckOptions& o) {
  const Flow flow = flow_of(oracle);
  const auto labels = oracle.table().labelings;
  const auto free = [=](bool control) {
    return [=](uint64_t seed) {
      return FreeBound(flow, TimeDensity(1.0),
                       {.times = o.times, .t1 = o.t1, .control = control, .seed = seed})(labels);
    };
  };
  const auto weights = [=](ProposalKind proposal, TraceKind kind, uint64_t seed) {
    return FlowBound(
        flow, {.proposal = proposal, .trace = {.kind = kind, .stride = 2}, .draws = o.draws, .t1 = o.t1, .seed = seed})(
        labels);
  };
  const auto mean = [=](ProposalKind proposal, TraceKind kind) {
    return [=](uint64_t seed) { return mean_of_weights(weights(proposal, kind, seed)); };
  };
  return {
      {"free", free(true)},
      {"free, without control", free(false)},
      {"path, exact trace", mean(ProposalKind::path, TraceKind::exact)},
      {"path, log-mean-exp",
       [=](uint64_t seed) { return log_mean_of_weights(weights(ProposalKind::path, TraceKind::exact, seed)); }},
      {"path, lattice of stride 2", mean(ProposalKind::path, TraceKind::lattice)},
      {"path, hutchinson", mean(ProposalKind::path, TraceKind::hutchinson)},
      {"ball, exact trace", mean(ProposalKind::ball, TraceKind::exact), false},
      {"direct (no bound)",
       [=](uint64_t seed) {
         return direct_estimate(flow, labels, {.draws = o.trajectories, .t1 = o.t1, .seed = seed});
       }},
  };
}

EstimatorCheck check(const Estimator& estimator, const JointOracle& oracle, uint64_t seed) {
  const double start = now_seconds();
  const auto scores = estimator.score(seed);
  const double seconds = now_seconds() - start;
  const auto error = scores.log_p - oracle.log_p(oracle.table().labelings);
  const ScoreSummary summary = summarise(scores, oracle.space());
  const auto rms = [](const torch::Tensor& x) { return std::sqrt(x.square().nanmean().item<double>()); };
  return {.name = estimator.name,
          .mean_error = error.mean().item<double>(),
          .its_error = std::hypot(summary.estimation_error, summary.integration_error),
          .rms_error = rms(error),
          .reported_error = rms(total_error(scores)),
          .sum = sum_of_probabilities(scores),
          .seconds = seconds};
}

// Counts of each labeling among items drawn from the table.
torch::Tensor drawn_counts(const JointTable& table, int64_t n_items) {
  const auto items = distinct_items(JointSampler(table).draw({1, Purpose::source_rows}, 0, n_items));
  auto counts = torch::zeros({table.p.size(0)}, torch::kInt64);
  for (int64_t k = 0; k < items.counts.size(0); ++k)
    counts += items.counts[k] * (table.labelings == items.labels[k]).all(1);
  return counts;
}

}  // namespace

JointTable random_joint(const std::vector<int64_t>& n_labels, uint64_t seed) {
  std::vector<Variable> variables;
  for (const int64_t c : n_labels) {
    if (c < 1 || c > kMaxLabels) fail_input("a variable with ", c, " labels: expected 1 to ", kMaxLabels);
    variables.push_back({.name = {}, .n_labels = c, .label_names = {}});
  }
  const Space space = Space::table(variables);
  if (space.n_labelings(kMaxCheckedLabelings) > kMaxCheckedLabelings)
    fail_input("variables with more than ", kMaxCheckedLabelings, " labelings together");
  const auto labelings = enumerate_labelings(space);
  auto weights = torch::empty({labelings.size(0)}, torch::kFloat64);
  fill_normal(weights, {seed, Purpose::source_rows}, 0);
  return make_joint_table(space, labelings, weights.exp());
}

std::vector<EstimatorCheck> check_estimators(const JointOracle& oracle, const CheckOptions& options,
                                             const std::function<void(const EstimatorCheck&)>& on_check) {
  std::vector<EstimatorCheck> checks;
  for (const Estimator& estimator : estimators_of(oracle, options)) {
    checks.push_back(check(estimator, oracle, options.seed));
    if (on_check) on_check(checks.back());
  }
  return checks;
}

std::vector<EstimatorCalibration> calibrate_estimators(
    const JointOracle& oracle, const CheckOptions& options, int64_t n_seeds, int64_t n_items,
    const std::function<void(const EstimatorCalibration&)>& on_calibration) {
  const auto log_p = oracle.log_p(oracle.table().labelings);
  const auto ones = torch::ones({log_p.size(0)}, torch::kInt64);
  const auto drawn = drawn_counts(oracle.table(), n_items);
  std::vector<EstimatorCalibration> out;
  for (const Estimator& estimator : estimators_of(oracle, options)) {
    std::map<uint64_t, ItemScores> known;  // both averages use the same scores
    const auto score = [&](uint64_t seed) {
      const auto at = known.find(seed);
      return at != known.end() ? at->second : known.emplace(seed, estimator.score(seed)).first->second;
    };
    const auto calibration = [&](const torch::Tensor& counts) {
      const double truth = (counts * log_p).sum().item<double>() / counts.sum().item<double>();
      return calibrate(score, n_seeds, oracle.space(), counts,
                       estimator.exact ? std::optional<double>(truth) : std::nullopt);
    };
    out.push_back({estimator.name, calibration(ones), calibration(drawn)});
    if (on_calibration) on_calibration(out.back());
  }
  return out;
}

}  // namespace segre
