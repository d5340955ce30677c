// segre convergence: the paper's experiment on how fast importance sampling of a bound converges.

#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/trace_options.h"
#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/io/output.h"
#include "segre/report/convergence_page.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/converge.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct ConvergenceArguments {
  std::string run;
  std::string data;
  std::string out;
  std::string bound = "path";
  int64_t items = 30;
  int64_t draws = 3557;
  int64_t panels = 1;
  double t1 = 0.0;
  std::string mass = "0.8";
  TraceArguments trace{.kind = "hutchinson"};
  std::string seed = "1";
  std::string device = "cpu";
  std::string precision = "auto";
  std::string checkpoint{};
};

void print_points(const std::vector<ConvergencePoint>& points) {
  for (const auto& point : points) {
    std::cout << std::setw(6) << point.draws << " draws: relative error " << std::setprecision(3) << 100.0 * point.mean
              << '%';
    if (!std::isnan(point.sd)) std::cout << " (sd over items " << 100.0 * point.sd << "%)";
    std::cout << '\n';
  }
}

void run_convergence(const ConvergenceArguments& a, const CLI::App& command) {
  const fs::path plotly = plotly_file();
  const OutputFolder out("--out", a.out, {"convergence.csv", "convergence.html"});
  const LoadedRun run = load_named(a.run, a.device, a.checkpoint, parse_precision(a.precision));
  const auto labels = first_items(run.model.space(), a.data, a.items, "--data " + a.data);
  FlowBoundOptions options{.trace = trace_options(a.trace),
                           .t1 = a.t1,
                           .mass = parse_mass(a.mass),
                           .panels = a.panels,
                           .seed = parse_seed(a.seed)};
  options.proposal = parse_proposal(a.bound);
  require_trace_options_used(command, options.trace.kind);
  require_used(command, "--mass", options.proposal == ProposalKind::ball, "--bound " + a.bound);
  const double start = now_seconds();
  const Convergence found =
      with_progress([&](const WorkCallbacks& callbacks) { return converge(run, labels, options, a.draws, callbacks); });
  const double seconds = now_seconds() - start;
  write_file_whole(out.path() / "convergence.csv",
                   [&](std::ostream& file) { write_convergence_csv(file, found.points); });
  const std::string setting =
      concat(a.bound, " proposal, ", a.trace.kind, " trace, ", found.n_items, " items of ", a.data, ", ", a.draws,
             " draws each. Log weights vary by ", found.weight_scatter, " nats.");
  convergence_page(found.points, setting).write(out.path() / "convergence.html", plotly);
  print_points(found.points);
  std::cerr << setting << '\n'
            << describe(found.summary, ScoreKind::lower_bound) << '\n'
            << found.n_items * a.draws << " trajectories in " << format_seconds(seconds) << "; wrote "
            << (out.path() / "convergence.html").string() << '\n';
}

}  // namespace

void add_convergence(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("convergence", "Measure how fast importance sampling of a bound converges");
  auto a = std::make_shared<ConvergenceArguments>();
  command->add_option("RUN", a->run, "directory that 'segre train' wrote")->required();
  command->add_option("--data", a->data, "SOURCE of the items")->required();
  command->add_option("--out", a->out, "folder for convergence.csv and convergence.html")->required();
  command->add_option("--items", a->items, "only the first N items; 0: all (30)")->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--draws", a->draws, "draws per item; their mean estimates the limit")
      ->check(CLI::Range(int64_t{2}, kMost));
  command->add_option("--bound", a->bound, "path or ball, see 'segre likelihood --help'");
  command->add_option("--t1", a->t1, "time at which labels are read; default: the decision time");
  add_mass_option(*command, a->mass);
  add_trace_options(*command, a->trace);
  command->add_option("--panels", a->panels, "panels of the quadrature along the path, 15 nodes each")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  command->add_option("--precision", a->precision,
                      "precision of the network: float32, bfloat16 (CUDA), or auto (as trained); one probe's noise far "
                      "exceeds bfloat16 rounding");
  command->add_option("--seed", a->seed, "seed of the draws");
  add_device_option(*command, a->device);
  add_checkpoint_option(*command, a->checkpoint);
  command->footer("Example: segre convergence runs/pinwheel --data pinwheel --draws 200 --out convergence");
  command->callback([a, command] { run_convergence(*a, *command); });
}

}  // namespace segre::cli
