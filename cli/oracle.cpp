// segre oracle: checks every likelihood estimator, with the exact flow of a known distribution, against exact log p.

#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "segre/core/error.h"
#include "segre/path/path_kinds.h"
#include "segre/sources/source_kinds.h"
#include "segre/tasks/check_estimators.h"

namespace segre::cli {
namespace {

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

JointTable table_of(const OracleArguments& a, uint64_t seed) {
  if (a.data.empty() == a.labels.empty())
    fail_input("give either --data SOURCE with a known distribution, or --labels 2,2,3 for a random one");
  if (a.data.empty()) return random_joint(a.labels, seed);
  const auto source = open_source(a.data);
  if (source->joint() == nullptr) fail_input("--data ", a.data, ": its distribution is not known");
  if (source->joint()->p.size(0) > kMaxCheckedLabelings)
    fail_input("--data ", a.data, ": more than ", kMaxCheckedLabelings, " labelings");
  return *source->joint();
}

void print_check(const EstimatorCheck& check) {
  std::cout << std::left << std::setw(26) << check.name << std::right << std::setprecision(3) << std::setw(13)
            << check.mean_error << std::setw(12) << check.its_error << std::setw(12) << check.rms_error << std::setw(12)
            << check.reported_error << std::setprecision(6) << std::setw(14) << check.sum.value << std::setprecision(3)
            << std::setw(12) << check.sum.error << std::setw(9) << check.seconds << std::endl;
}

void print_calibration(const EstimatorCalibration& calibration) {
  std::cout << std::left << std::setw(26) << calibration.name << std::right << std::fixed << std::setprecision(3);
  for (const Calibration& found : {calibration.once, calibration.items})
    std::cout << std::setw(11) << found.within_one << std::setw(7) << found.within_two << std::setw(8) << found.ratio;
  std::cout << std::defaultfloat << std::endl;
}

void run_oracle(const OracleArguments& a) {
  constexpr int64_t kItems = 20'000;
  const CheckOptions options{
      .times = a.times, .draws = a.draws, .trajectories = a.trajectories, .t1 = a.t1, .seed = parse_seed(a.seed)};
  const JointOracle oracle(table_of(a, options.seed), make_path({}));
  std::cout << oracle.space().describe() << ", " << oracle.table().p.size(0) << " labelings, entropy "
            << -(oracle.table().p * oracle.table().p.log()).sum().item<double>() << " nats\n";
  if (a.calibrate > 0) {
    std::cout << "over " << a.calibrate << " seeds: the share of averages within 1 and 2 printed errors of the truth "
              << "(0.683 and 0.954 for a normal law),\nand the ratio of actual to printed errors (root mean squares); "
              << "for every labeling once, and for " << kItems << " items\n"
              << "estimator                     once: 1      2   ratio   items: 1      2   ratio\n";
    calibrate_estimators(oracle, options, a.calibrate, kItems, print_calibration);
    return;
  }
  std::cout << "estimator                    mean error  its error   rms error reported se  sum of exp(lp)   its error"
            << "  seconds\n";
  check_estimators(oracle, options, print_check);
}

}  // namespace

void add_oracle(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("oracle", "Check every likelihood estimator with the exact flow of a known p");
  auto a = std::make_shared<OracleArguments>();
  command->add_option("--data", a->data, "SOURCE with a known distribution: coupled, joint:FILE.csv");
  command->add_option("--labels", a->labels, "a random distribution of variables with these label counts")
      ->delimiter(',');
  command->add_option("--times", a->times, "free: evaluations per labeling")->check(CLI::Range(int64_t{4}, kMost));
  command->add_option("--draws", a->draws, "path, ball: draws per labeling")->check(CLI::Range(int64_t{2}, kMost));
  command->add_option("--trajectories", a->trajectories, "direct: trajectories")->check(CLI::Range(int64_t{2}, kMost));
  command
      ->add_option("--calibrate", a->calibrate,
                   "compare printed with actual errors over N seeds; choose small --times, --draws and "
                   "--trajectories")
      ->check(CLI::Range(int64_t{2}, kMost));
  command->add_option("--t1", a->t1, "time at which labels are read; default: the decision time");
  command->add_option("--seed", a->seed, "seed of the distribution and the draws");
  command->footer(
      "Errors are estimated minus exact log p, in nats; a lower bound's sum of exp(log_p) is at most 1 up to its "
      "error.\n"
      "Example: segre oracle --labels 2,2,2,2,2,2");
  command->callback([a] { run_oracle(*a); });
}

}  // namespace segre::cli
