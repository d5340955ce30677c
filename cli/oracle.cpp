// segre oracle: every likelihood estimator with the exact flow of a known distribution, beside the exact log p.

#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>

#include "cli/commands.h"
#include "cli/gather.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/likelihood/calibration.h"
#include "segre/likelihood/direct.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/likelihood/summary.h"

namespace segre::cli {
namespace {

constexpr int64_t kMaxLabelings = 4096;

struct OracleArguments {
  std::string data;
  std::vector<int64_t> labels;
  int64_t times = 4096;
  int64_t draws = 16;
  int64_t trajectories = 100'000;
  int64_t calibrate = 0;
  double t1 = 0.0;
  std::string seed = "1";
};

// A random distribution of variables with these label counts: p in proportion to exp of standard normals.
JointTable random_table(const std::vector<int64_t>& n_labels, uint64_t seed) {
  std::vector<Variable> variables;
  for (const int64_t c : n_labels) {
    if (c < 1 || c > kMaxLabels) fail_input("--labels ", c, ": expected 1 to ", kMaxLabels);
    variables.push_back({.name = {}, .n_labels = c, .label_names = {}});
  }
  const Space space = Space::table(variables);
  if (space.n_labelings(kMaxLabelings) > kMaxLabelings) fail_input("--labels: more than ", kMaxLabelings, " labelings");
  const auto labelings = enumerate_labelings(space);
  auto weights = torch::empty({labelings.size(0)}, torch::kFloat64);
  fill_normal(weights, {seed, Purpose::source_rows}, 0);
  return make_joint_table(space, labelings, weights.exp());
}

JointTable table_of(const OracleArguments& arguments, uint64_t seed) {
  if (arguments.data.empty() == arguments.labels.empty())
    fail_input("give either --data SOURCE with a known distribution, or --labels 2,2,3 for a random one");
  if (arguments.data.empty()) return random_table(arguments.labels, seed);
  const auto source = open_source(arguments.data);
  if (source->joint() == nullptr) fail_input("--data ", arguments.data, ": its distribution is not known");
  if (source->joint()->p.size(0) > kMaxLabelings)
    fail_input("--data ", arguments.data, ": more than ", kMaxLabelings, " labelings");
  return *source->joint();
}

void print_row(const std::string& name, const ItemScores& scores, const JointOracle& oracle, double seconds) {
  const auto error = scores.log_p - oracle.log_p(oracle.table().labelings);
  const ScoreSummary summary = summarise(scores, oracle.space());
  const Measured sum = sum_of_probabilities(scores);
  const auto rms = [](const torch::Tensor& x) { return std::sqrt(x.square().nanmean().item<double>()); };
  std::cout << std::left << std::setw(26) << name << std::right << std::setprecision(3) << std::setw(13)
            << error.mean().item<double>() << std::setw(12)
            << std::hypot(summary.estimation_error, summary.integration_error) << std::setw(12) << rms(error)
            << std::setw(12) << rms(total_error(scores)) << std::setprecision(6) << std::setw(14) << sum.value
            << std::setprecision(3) << std::setw(12) << sum.error << std::setw(9) << seconds << std::endl;
}

// An estimator with the exact flow: scores of all labelings of the table for a seed.
struct OracleEstimator {
  std::string name;
  std::function<ItemScores(uint64_t seed)> score;
  bool exact = true;  // whether its mean is log p itself
};

std::vector<OracleEstimator> estimators_of(const OracleArguments& a, const Flow& flow, const torch::Tensor& labels) {
  const auto free = [=](bool control) {
    return [=](uint64_t seed) {
      return FreeBound(flow, TimeDensity(1.0),
                       {.times = a.times, .t1 = a.t1, .control = control, .seed = seed})(labels);
    };
  };
  const auto weights = [=](ProposalKind proposal, TraceKind kind, uint64_t seed) {
    return FlowBound(
        flow, {.proposal = proposal, .trace = {.kind = kind, .stride = 2}, .draws = a.draws, .t1 = a.t1, .seed = seed})(
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
         return direct_estimate(flow, labels, {.draws = a.trajectories, .t1 = a.t1, .seed = seed});
       }},
  };
}

void compare(const JointOracle& oracle, const std::vector<OracleEstimator>& estimators, uint64_t seed) {
  std::cout << "estimator                    mean error  its error   rms error reported se  sum of exp(lp)   its error"
            << "  seconds\n";
  for (const OracleEstimator& estimator : estimators) {
    const double start = now_seconds();
    const auto scores = estimator.score(seed);
    print_row(estimator.name, scores, oracle, now_seconds() - start);
  }
}

// How often each labeling occurs among items drawn from the table.
torch::Tensor drawn_counts(const JointTable& table, int64_t n_items) {
  const auto items = distinct_items(JointSampler(table).draw({1, Purpose::source_rows}, 0, n_items));
  auto counts = torch::zeros({table.p.size(0)}, torch::kInt64);
  for (int64_t k = 0; k < items.counts.size(0); ++k)
    counts += items.counts[k] * (table.labelings == items.labels[k]).all(1);
  return counts;
}

void calibrate_all(const OracleArguments& a, const JointOracle& oracle,
                   const std::vector<OracleEstimator>& estimators) {
  constexpr int64_t kItems = 20'000;
  const auto log_p = oracle.log_p(oracle.table().labelings);
  const auto ones = torch::ones({log_p.size(0)}, torch::kInt64);
  const auto drawn = drawn_counts(oracle.table(), kItems);
  std::cout << "over " << a.calibrate << " seeds, the share of averages within 1 and 2 printed errors of the truth "
            << "(a normal law has 0.683 and 0.954),\nand the root mean square of the errors made over that of the "
            << "printed ones; of every labeling once, and of " << kItems << " items\n"
            << "estimator                     once: 1      2   ratio   items: 1      2   ratio\n";
  for (const OracleEstimator& estimator : estimators) {
    std::map<uint64_t, ItemScores> known;  // both averages are of the same scores
    const auto score = [&](uint64_t seed) {
      const auto at = known.find(seed);
      return at != known.end() ? at->second : known.emplace(seed, estimator.score(seed)).first->second;
    };
    std::cout << std::left << std::setw(26) << estimator.name << std::right << std::fixed << std::setprecision(3);
    for (const auto& counts : {ones, drawn}) {
      const double truth = (counts * log_p).sum().item<double>() / counts.sum().item<double>();
      const auto found = calibrate(score, a.calibrate, oracle.space(), counts,
                                   estimator.exact ? std::optional<double>(truth) : std::nullopt);
      std::cout << std::setw(11) << found.within_one << std::setw(7) << found.within_two << std::setw(8) << found.ratio;
    }
    std::cout << std::defaultfloat << std::endl;
  }
}

void consult(const OracleArguments& a) {
  const uint64_t seed = parse_seed(a.seed);
  const JointOracle oracle(table_of(a, seed), make_path({}));
  const auto& labels = oracle.table().labelings;
  const auto estimators = estimators_of(a, flow_of(oracle), labels);
  std::cout << oracle.space().describe() << ", " << labels.size(0) << " labelings, entropy "
            << -(oracle.table().p * oracle.table().p.log()).sum().item<double>() << " nats\n";
  if (a.calibrate > 0) return calibrate_all(a, oracle, estimators);
  compare(oracle, estimators, seed);
}

}  // namespace

void add_oracle(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("oracle", "Hold every likelihood estimator against the exact flow of a known p");
  auto a = std::make_shared<OracleArguments>();
  command->add_option("--data", a->data, "SOURCE with a known distribution: coupled, joint:FILE.csv");
  command->add_option("--labels", a->labels, "a random distribution of variables with these label counts")
      ->delimiter(',');
  command->add_option("--times", a->times, "free: evaluations per labeling")->check(CLI::Range(int64_t{4}, kMost));
  command->add_option("--draws", a->draws, "path, ball: draws per labeling")->check(CLI::Range(int64_t{2}, kMost));
  command->add_option("--trajectories", a->trajectories, "direct: trajectories")->check(CLI::Range(int64_t{2}, kMost));
  command
      ->add_option("--calibrate", a->calibrate,
                   "hold the printed errors against those made over so many seeds; choose small --times, --draws and "
                   "--trajectories")
      ->check(CLI::Range(int64_t{2}, kMost));
  command->add_option("--t1", a->t1, "time at which labels are read; default: the decision time");
  command->add_option("--seed", a->seed, "seed of the distribution and the draws");
  command->footer(
      "Errors are log p estimated less exact, in nats; a lower bound's sum of exp(log_p) is at most 1 up to its "
      "error.\n"
      "Example: segre oracle --labels 2,2,2,2,2,2");
  command->callback([a] { consult(*a); });
}

}  // namespace segre::cli
