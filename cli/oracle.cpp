// segre oracle: every likelihood estimator with the exact flow of a known distribution, beside the exact log p.

#include <cmath>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/gather.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
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
  const auto n = static_cast<double>(error.size(0));
  const Measured sum = sum_of_probabilities(scores);
  const auto rms = [](const torch::Tensor& x) { return std::sqrt(x.square().nanmean().item<double>()); };
  std::cout << std::left << std::setw(26) << name << std::right << std::setprecision(3) << std::setw(13)
            << error.mean().item<double>() << std::setw(12) << rms(scores.std_error) / std::sqrt(n) << std::setw(12)
            << rms(error) << std::setw(12) << rms(scores.std_error) << std::setprecision(6) << std::setw(14)
            << sum.value << std::setprecision(3) << std::setw(12) << sum.error << std::setw(9) << seconds << std::endl;
}

void compare(const OracleArguments& a) {
  const uint64_t seed = parse_seed(a.seed);
  const JointOracle oracle(table_of(a, seed), make_path({}));
  const Flow flow = flow_of(oracle);
  const auto& labels = oracle.table().labelings;
  std::cout << oracle.space().describe() << ", " << labels.size(0) << " labelings, entropy "
            << -(oracle.table().p * oracle.table().p.log()).sum().item<double>() << " nats\n"
            << "estimator                    mean error  its error   rms error reported se  sum of exp(lp)   its error"
            << "  seconds\n";
  const auto row = [&](const std::string& name, const std::function<ItemScores()>& score) {
    const double start = now_seconds();
    const auto scores = score();
    print_row(name, scores, oracle, now_seconds() - start);
  };
  row("free", [&] { return FreeBound(flow, TimeDensity(1.0), {.times = a.times, .t1 = a.t1, .seed = seed})(labels); });
  const auto weights = [&](ProposalKind proposal, TraceKind kind) {
    return FlowBound(
        flow, {.proposal = proposal, .trace = {.kind = kind, .stride = 2}, .draws = a.draws, .t1 = a.t1, .seed = seed})(
        labels);
  };
  row("path, exact trace", [&] { return mean_of_weights(weights(ProposalKind::path, TraceKind::exact)); });
  row("path, log-mean-exp", [&] { return log_mean_of_weights(weights(ProposalKind::path, TraceKind::exact)); });
  row("path, lattice of stride 2", [&] { return mean_of_weights(weights(ProposalKind::path, TraceKind::lattice)); });
  row("path, hutchinson", [&] { return mean_of_weights(weights(ProposalKind::path, TraceKind::hutchinson)); });
  row("ball, exact trace", [&] { return mean_of_weights(weights(ProposalKind::ball, TraceKind::exact)); });
  row("direct (no bound)", [&] { return direct_estimate(flow, labels, {.t1 = a.t1, .seed = seed}); });
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
  command->add_option("--t1", a->t1, "time at which labels are read; default: the decision time");
  command->add_option("--seed", a->seed, "seed of the distribution and the draws");
  command->footer(
      "Errors are log p estimated less exact, in nats; a lower bound's sum of exp(log_p) is at most 1 up to its "
      "error.\n"
      "Example: segre oracle --labels 2,2,2,2,2,2");
  command->callback([a] { compare(*a); });
}

}  // namespace segre::cli
