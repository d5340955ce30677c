// segre convergence: the paper's experiment on importance sampling, how soon the estimate of a bound settles.

#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/trace_options.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/data/relabel.h"
#include "segre/eval/convergence.h"
#include "segre/io/output.h"
#include "segre/likelihood/summary.h"
#include "segre/report/page.h"

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
  double mass = 0.8;
  TraceArguments trace{.kind = "hutchinson"};
  std::string seed = "1";
  std::string device = "cpu";
  std::string precision = "auto";
  std::string checkpoint = "last";
};

// Weights of all draws, a few at a time: [N, draws].
LogWeights weigh_all(const Flow& flow, const FlowBoundOptions& options, const torch::Tensor& labels, int64_t draws) {
  const int64_t rows = flow.options.device().is_cpu() ? 4 : 2048;
  const int64_t per_call = std::max<int64_t>(1, rows / labels.size(0));
  const FlowBound bound(flow, options);
  std::optional<LogWeights> all;
  Progress progress("weighing", draws);
  for (int64_t first = 0; first < draws; first += per_call) {
    const auto some = bound.draws(labels, first, std::min(per_call, draws - first));
    all = all ? join_draws(*all, some) : some;
    progress.update(std::min(draws, first + per_call));
  }
  return *all;
}

void write_csv(std::ostream& out, const std::vector<ConvergencePoint>& points) {
  out << "draws,relative_error,sd\n" << std::setprecision(8);
  for (const auto& point : points) {
    out << point.draws << ',' << point.mean << ',';
    if (!std::isnan(point.sd)) out << point.sd;  // a single item has no spread
    out << '\n';
  }
}

void write_page(const fs::path& path, const std::vector<ConvergencePoint>& points, const std::string& setting,
                const fs::path& plotly) {
  nlohmann::json x = nlohmann::json::array();
  nlohmann::json mean = x;
  nlohmann::json above = x;
  nlohmann::json below = x;
  for (const auto& point : points) {
    x.push_back(point.draws);
    mean.push_back(100.0 * point.mean);
    above.push_back(100.0 * (point.mean + point.sd));
    below.push_back(100.0 * std::max(0.0, point.mean - point.sd));
  }
  const auto line = [&](const char* name, const nlohmann::json& y, const char* fill, double width) {
    return nlohmann::json{{"type", "scatter"},
                          {"mode", "lines"},
                          {"name", name},
                          {"x", x},
                          {"y", y},
                          {"fill", fill},
                          {"fillcolor", "rgba(31,95,191,0.15)"},
                          {"line", {{"color", "#1f5fbf"}, {"width", width}}}};
  };
  Page page("Convergence of importance sampling");
  page.text(setting);
  page.chart(
      {line("mean + sd", above, "none", 0.0), line("mean - sd", below, "tonexty", 0.0),
       line("mean over items", mean, "none", 2.0)},
      {{"height", 440},
       {"showlegend", false},
       {"xaxis", {{"type", "log"}, {"title", {{"text", "draws per item"}}}, {"gridcolor", "#e6eaef"}}},
       {"yaxis", {{"title", {{"text", "relative error, %"}}}, {"rangemode", "tozero"}, {"gridcolor", "#e6eaef"}}}});
  page.caption(
      "Mean and standard deviation over items of the distance to the limit of many draws, for which the mean of all "
      "draws stands (corrected for the draws they share), relative to it or to 1 nat if it is less; lower is better.");
  page.write(path, plotly);
}

void converge(const ConvergenceArguments& a, const CLI::App& command) {
  const fs::path plotly = plotly_file();
  const OutputFolder out("--out", a.out, {"convergence.csv", "convergence.html"});
  const LoadedRun run =
      load_run(a.run, parse_device(a.device), parse_checkpoint(a.checkpoint), parse_precision(a.precision));
  // Equal items share their draws: each labeling is followed once and counts as often as it occurs.
  const auto [labels, counts, place] =
      distinct_items(first_items(run.model.space(), a.data, a.items, "--data " + a.data));
  FlowBoundOptions options{
      .trace = trace_options(a.trace), .t1 = a.t1, .mass = a.mass, .panels = a.panels, .seed = parse_seed(a.seed)};
  options.proposal = parse_proposal(a.bound);
  require_trace_options_used(command, options.trace.kind);
  require_used(command, "--mass", options.proposal == ProposalKind::ball, "--bound " + a.bound);
  const double start = now_seconds();
  const auto weights = weigh_all(flow_of(run.model), options, labels, a.draws);
  const double seconds = now_seconds() - start;
  const auto points = convergence_of(weights.values);
  const auto summary = summarise(mean_of_weights(weights), run.model.space(), counts);
  require_possible(summary);
  write_file_whole(out.path() / "convergence.csv", [&](std::ostream& file) { write_csv(file, points); });
  const std::string setting =
      concat(a.bound, " proposal, ", a.trace.kind, " trace, ", labels.size(0), " items of ", a.data, ", ", a.draws,
             " draws each. A weight scatters by ", weights.values.std(1).mean().item<double>(), " nats.");
  write_page(out.path() / "convergence.html", points, setting, plotly);
  for (const auto& point : points) {
    std::cout << std::setw(6) << point.draws << " draws: relative error " << std::setprecision(3) << 100.0 * point.mean
              << '%';
    if (!std::isnan(point.sd)) std::cout << " (sd over items " << 100.0 * point.sd << "%)";
    std::cout << '\n';
  }
  std::cerr << setting << '\n'
            << describe(summary, ScoreKind::lower_bound) << '\n'
            << labels.size(0) * a.draws << " trajectories in " << format_seconds(seconds) << "; wrote "
            << (out.path() / "convergence.html").string() << '\n';
}

}  // namespace

void add_convergence(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("convergence", "How soon importance sampling of a likelihood bound settles");
  auto a = std::make_shared<ConvergenceArguments>();
  command->add_option("RUN", a->run, "directory that 'segre train' wrote")->required();
  command->add_option("--data", a->data, "SOURCE of the items")->required();
  command->add_option("--out", a->out, "folder for convergence.csv and convergence.html")->required();
  command->add_option("--items", a->items, "only the first so many; 0: all (30)")->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--draws", a->draws, "per item; their mean stands for the limit")
      ->check(CLI::Range(int64_t{2}, kMost));
  command->add_option("--bound", a->bound, "path or ball, see 'segre likelihood --help'");
  command->add_option("--t1", a->t1, "time at which labels are read; default: the decision time");
  command->add_option("--mass", a->mass, "ball: mass of the proposal's normal inside the balls together");
  add_trace_options(*command, a->trace);
  command->add_option("--panels", a->panels, "of the quadrature along the path, 15 nodes each")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}));
  command->add_option("--precision", a->precision,
                      "of the network: float32, bfloat16 (CUDA), or auto: as trained; one probe scatters far more than "
                      "bfloat16 rounds");
  command->add_option("--seed", a->seed, "seed of the draws");
  command->add_option("--device", a->device, "cpu, cuda or cuda:N");
  add_checkpoint_option(*command, a->checkpoint);
  command->footer("Example: segre convergence runs/pinwheel --data pinwheel --draws 200 --out convergence");
  command->callback([a, command] { converge(*a, *command); });
}

}  // namespace segre::cli
