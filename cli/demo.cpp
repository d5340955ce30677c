// segre demo: the tour. Trains the three toys, samples and conditions them, and shows the results on one page.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/commands.h"
#include "cli/demo_table.h"
#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/interrupt.h"
#include "segre/core/parallel.h"
#include "segre/core/progress.h"
#include "segre/core/text.h"
#include "segre/core/version.h"
#include "segre/eval/total_variation.h"
#include "segre/flow/draw.h"
#include "segre/io/output.h"
#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/model/joint_oracle.h"
#include "segre/path/simplex.h"
#include "segre/report/figures.h"
#include "segre/report/page.h"
#include "segre/report/picture.h"
#include "segre/runs/load_run.h"
#include "segre/runs/run_directory.h"
#include "segre/runs/train_display.h"
#include "segre/runs/train_run.h"
#include "segre/sources/source_kinds.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct DemoArguments {
  std::string out = "demo";
  std::string max_time = "72s";
  int64_t count = 300'000;
  int64_t seed = 1;
};

constexpr double kLeastSeconds = 3.0;  // of training: enough for a few steps on a busy machine
constexpr double kTableShare = 0.1;    // of the toys' training time, for the table

struct Toy {
  const char* source;
  const char* title;
  double share;  // of the training time
  EvidenceKind evidence;
};
constexpr Toy kToys[] = {{"coupled", "Coupled binary variables", 0.12, EvidenceKind::any},
                         {"mixture", "Mixture of Gaussians, 91 x 91", 0.40, EvidenceKind::uniform},
                         {"pinwheel", "Pinwheel, 91 x 91", 0.48, EvidenceKind::uniform}};

// A toy after training: its model, its samples, and how long both took.
struct Outcome {
  const Toy& toy;
  std::unique_ptr<DataSource> source;
  LoadedRun run;
  LabelingCounts counts;
  LossCurve losses;
  double train_seconds;
  double sample_seconds;
  int64_t n_evaluations;  // of all samples together
};

LossCurve read_losses(const RunDirectory& run, const char* name, const JointTable& target) {
  LossCurve curve{name, {}, {}, joint_entropy(target.p).item<double>()};
  std::ifstream in(run.metrics());
  for (std::string line; std::getline(in, line);) {
    const auto entry = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!entry.contains("nats")) continue;  // a validation, or a line cut short by a full disk
    curve.steps.push_back(entry.at("step").get<double>());
    curve.nats.push_back(entry.at("nats").get<double>());
  }
  return curve;
}

// Whether this command made the run: run.json has the command line.
bool is_demos_own(const RunDirectory& run) {
  const auto info = nlohmann::json::parse(std::ifstream(run.info_file()), nullptr, /*allow_exceptions=*/false);
  if (!info.is_object() || !info.contains("command") || !info["command"].is_string()) return false;
  const auto words = split(info["command"].get<std::string>(), ' ');
  return words.size() > 1 && words[1] == "demo";
}

// The names of the runs that the demo makes.
std::vector<std::string> run_names() {
  std::vector<std::string> names{"table"};
  for (const Toy& toy : kToys) names.emplace_back(toy.source);
  return names;
}

// Removes the runs of the last demo; refuses to remove anything else.
void make_room(const fs::path& out) {
  for (const std::string& name : run_names()) {
    const RunDirectory run(out / name);
    const bool vacant = !fs::exists(run.path()) || (fs::is_directory(run.path()) && fs::is_empty(run.path()));
    if (!vacant && !is_demos_own(run))
      fail_input("--out ", out.string(), ": ", run.path().string(),
                 " already exists and was not made by 'segre demo'; move it, or choose another --out");
  }
  for (const std::string& name : run_names()) {
    const RunDirectory run(out / name);
    if (!fs::exists(run.path())) continue;
    const auto lock = run.lock();
    run.remove();
  }
}

Outcome train_and_sample(const Toy& toy, const DemoArguments& arguments, const Context& context) {
  const RunDirectory run(fs::path(arguments.out) / toy.source);
  Experiment experiment;
  experiment.data = toy.source;
  experiment.seed = arguments.seed;
  experiment.sample.steps = 4;
  experiment.train.evidence.kind = toy.evidence;
  std::cerr << "== " << toy.source << ": train\n";
  const double start = now_seconds();
  const double seconds = std::max(kLeastSeconds, toy.share * parse_duration("--max-time", arguments.max_time));
  {
    TrainDisplay display;
    TrainCallbacks callbacks = display.callbacks();
    callbacks.on_start = nullptr;
    callbacks.signals = true;
    train_run(experiment, run, {.max_seconds = seconds, .command = context.command_line, .callbacks = callbacks});
  }
  if (InterruptGuard::requested()) {
    std::cerr << "stopped by a signal\n";
    throw Stopped{InterruptGuard::signal()};
  }
  const double trained = now_seconds();
  std::cerr << "== " << toy.source << ": sample\n";
  auto source = open_source(toy.source);
  LoadedRun loaded = load_run(run.path(), torch::kCPU);
  const Sampler sampler(loaded.model, loaded.experiment.sample, static_cast<uint64_t>(arguments.seed));
  LabelingCounts counts(source->space());
  const DrawTotals totals = with_progress([&](const WorkCallbacks& callbacks) {
    return draw_samples(
        sampler, arguments.count, [&](const torch::Tensor& labels, int64_t) { counts.add(labels); }, callbacks);
  });
  LossCurve losses = read_losses(run, toy.source, *source->joint());
  return {toy,
          std::move(source),
          std::move(loaded),
          std::move(counts),
          std::move(losses),
          trained - start,
          now_seconds() - trained,
          totals.n_evaluations};
}

void show_flow(Page& page, const Outcome& coupled) {
  page.heading("The flow in the tetrahedron of joint distributions");
  page.text(
      "Every point of the tetrahedron is a joint distribution of two binary variables; its corners are the four "
      "labelings. The surface contains "
      "the distributions that factorise. The target (45, 5, 5, 45)/100 is far from it. Drag to rotate.");
  const Figure plain = tetrahedron(*coupled.source->joint());
  page.chart(plain.traces, plain.layout);
  page.caption("The target and the surface of factorising distributions.");
  // More steps than sampling needs, up to t = 1: for smooth curves that reach the corners.
  SampleOptions smooth = coupled.run.experiment.sample;
  smooth.steps = 48;
  smooth.stop = Stop::end;
  constexpr int64_t kCurves = 1000;
  const Sampler sampler(coupled.run.model, smooth, 1);
  const Figure flow = tetrahedron_with_flow(*coupled.source->joint(), sampler.trajectories(kCurves));
  page.chart(flow.traces, flow.layout);
  page.caption(
      "1,000 curves of the trained flow on the surface. Each starts near the barycentre and ends in a corner; the "
      "shares of the corners are the learned distribution.");
}

void show_histograms(Page& page, const std::vector<Outcome>& outcomes) {
  page.heading("Target and samples");
  for (const Outcome& outcome : outcomes) {
    const JointTable& target = *outcome.source->joint();
    page.text(outcome.toy.title);
    const Figure figure = histograms(target, outcome.counts);
    page.chart(figure.traces, figure.layout);
    page.caption(concat("Total variation ", fixed(total_variation(target, outcome.counts), 4), " with ",
                        outcome.counts.total(), " samples; exact samples would give ",
                        fixed(total_variation_floor(target, outcome.counts.total()), 4),
                        " on average (the noise floor). 0 is best."));
  }
}

void show_summary(Page& page, const std::vector<Outcome>& outcomes) {
  std::vector<std::vector<std::string>> rows;
  for (const Outcome& o : outcomes) {
    const JointTable& target = *o.source->joint();
    rows.push_back({o.toy.title, fixed(total_variation(target, o.counts), 4),
                    fixed(total_variation_floor(target, o.counts.total()), 4), std::to_string(o.run.step),
                    format_seconds(o.train_seconds), format_seconds(o.sample_seconds),
                    std::to_string(o.n_evaluations / o.counts.total())});
  }
  page.table(
      {"distribution", "total variation", "noise floor", "steps", "training", "sampling", "evaluations per sample"},
      rows);
}

void show_probabilities(Page& page, const Outcome& coupled) {
  page.heading("How likely is a labeling?");
  page.text(
      "Coupled binary variables, log p in nats with standard errors: exact; the model's own likelihood by the path "
      "bound, "
      "which follows the flow back to its noise; the simulation-free bound, which needs no flow; and the logarithm of "
      "the "
      "samples' frequency.");
  const JointTable& target = *coupled.source->joint();
  const Flow flow = flow_of(coupled.run.model);
  const auto path = mean_of_weights(FlowBound(flow, {})(target.labelings));
  const auto path_error = total_error(path);
  const auto free = FreeBound(flow, coupled.run.times, {.times = 4096})(target.labelings);
  const auto n = static_cast<double>(coupled.counts.total());
  const auto with_error = [](double value, double error) { return fixed(value, 4) + " +- " + fixed(error, 4); };
  std::vector<std::vector<std::string>> rows;
  for (int64_t r = 0; r < target.p.numel(); ++r) {
    const auto labeling = target.labelings[r];
    const double frequency = static_cast<double>(coupled.counts.count(labeling)) / n;
    rows.push_back({concat("(", labeling[0].item<int64_t>(), ", ", labeling[1].item<int64_t>(), ")"),
                    fixed(std::log(target.p[r].item<double>()), 4),
                    with_error(path.log_p[r].item<double>(), path_error[r].item<double>()),
                    with_error(free.log_p[r].item<double>(), free.std_error[r].item<double>()),
                    with_error(std::log(frequency), std::sqrt((1.0 - frequency) / (frequency * n)))});
  }
  page.table({"labeling", "exact", "path bound", "simulation-free bound", "sampled"}, rows);
}

void show_conditionals(Page& page, const Outcome& coupled, int64_t count) {
  page.heading("One variable given the other");
  page.text(
      "The same network draws conditionals: the known variable is shown to it as a corner and is not simulated. "
      "Marginals take one evaluation and no simulation.");
  const JointTable& target = *coupled.source->joint();
  const Sampler sampler(coupled.run.model, coupled.run.experiment.sample, 1);
  std::vector<std::vector<std::string>> rows;
  for (const int64_t label : {0, 1}) {
    const auto one = torch::tensor({label, kUnknown}, torch::kInt64).view({1, 2});
    const JointTable exact = conditional(target, {.labels = one});
    const double p = exact.p.masked_select(exact.labelings.select(1, 1) == 1).sum().item<double>();
    const auto drawn = sampler.complete({.labels = one.expand({count, 2})}, 0, 0).labels.select(1, 1);
    const double share = drawn.to(torch::kFloat64).mean().item<double>();
    const auto marginal = sampler.probabilities({.labels = one}, 0)[0];
    rows.push_back(
        {concat("P(second = 1 | first = ", label, ")"), fixed(p, 4), fixed(marginal[3].item<double>(), 4),
         fixed(share, 4) + " +- " + fixed(std::sqrt(share * (1.0 - share) / static_cast<double>(count)), 4)});
  }
  page.table({"", "exact", "marginal of the network", "sampled"}, rows);
}

// The upper halves of a few digits, each finished several times.
void show_finished_digits(Page& page, const LoadedRun& run, const Sampler& sampler, const torch::Tensor& digits) {
  if (run.experiment.train.evidence.kind == EvidenceKind::uniform) return;
  constexpr int64_t kDraws = 9;
  const Space& space = run.model.space();
  const int64_t kept = space.n_variables() / 2;
  auto upper = digits.clone();
  upper.slice(1, kept).fill_(kUnknown);
  std::vector<torch::Tensor> columns{torch::where(upper == kUnknown, torch::zeros_like(upper), upper)};
  const Known known{.labels = upper};
  for (int64_t k = 0; k < kDraws; ++k) columns.push_back(sampler.complete(known, 0, k).labels);
  const Picture picture = draw_label_grid(space, torch::stack(columns, 1).flatten(0, 1), kDraws + 1);
  page.text("Finished from the upper half: the first image of each row is what is known, the others are completions.");
  page.picture(encode_png_rgb(picture.pixels, picture.height, picture.width));
}

// Digits from the model that ships with segre, if it is installed.
void show_digits(Page& page) {
  const fs::path model = fs::path(share_folder()) / "models" / "mnist";
  if (!fs::exists(model)) return;
  std::cerr << "== mnist: sample the model that ships with segre\n";
  constexpr int64_t kDigits = 40;
  constexpr int64_t kColumns = 10;
  const LoadedRun run = load_run(model, torch::kCPU);
  const double start = now_seconds();
  const Sampler sampler(run.model, run.experiment.sample, 1);
  const Samples samples = sampler.draw(0, kDigits);
  const Picture picture = draw_label_grid(run.model.space(), samples.labels, kColumns);
  page.heading("A trained image model");
  page.text(
      "1,024 binary variables, one per pixel: samples from the model of MNIST digits in models/mnist, just drawn on "
      "this machine's CPU.");
  page.picture(encode_png_rgb(picture.pixels, picture.height, picture.width));
  page.caption(concat(kDigits, " samples in ", format_seconds(now_seconds() - start), ", ",
                      samples.n_evaluations / kDigits, " network evaluations each."));
  show_finished_digits(page, run, sampler, samples.labels.slice(0, 0, 4));
}

void demo(const DemoArguments& arguments, const Context& context) {
  const fs::path plotly = plotly_file();
  const OutputFolder out("--out", arguments.out, {"report.html", "weather.csv", "weather-filled.csv"});
  make_room(out.path());
  const double start = now_seconds();
  const double training = parse_duration("--max-time", arguments.max_time);
  std::cerr << "three toys and a table are trained for " << format_seconds((1.0 + kTableShare) * training)
            << " and sampled, then digits are drawn; " << arguments.out << "/report.html shows everything\n";
  std::vector<Outcome> outcomes;
  for (const Toy& toy : kToys) outcomes.push_back(train_and_sample(toy, arguments, context));

  Page page("segre: joint distributions learned by flow matching");
  page.text(concat("Three toy distributions, trained and sampled on this machine in ",
                   format_seconds(now_seconds() - start), " with ", n_threads(), " threads (segre ", release(),
                   ", revision ", revision(), ")."));
  show_summary(page, outcomes);
  show_flow(page, outcomes[0]);
  show_histograms(page, outcomes);
  show_probabilities(page, outcomes[0]);
  show_conditionals(page, outcomes[0], arguments.count);
  show_table_with_holes(page, out.path(), std::max(kLeastSeconds, kTableShare * training),
                        static_cast<uint64_t>(arguments.seed), context);
  show_digits(page);
  page.heading("Training");
  std::vector<LossCurve> curves;
  for (const Outcome& outcome : outcomes) curves.push_back(outcome.losses);
  const Figure losses = loss_curves(curves);
  page.chart(losses.traces, losses.layout);
  page.caption(
      "The simulation-free bound on -log p during training, in nats per item: a noisy running mean over about a "
      "hundred batches. It falls towards the entropy of the target (dashed) and then fluctuates around its mean.");
  const fs::path report = fs::path(arguments.out) / "report.html";
  page.write(report, plotly);
  for (const Outcome& o : outcomes)
    std::cerr << o.toy.source << ": total variation " << fixed(total_variation(*o.source->joint(), o.counts), 4)
              << ", noise floor " << fixed(total_variation_floor(*o.source->joint(), o.counts.total()), 4) << '\n';
  std::cerr << "demo done in " << format_seconds(now_seconds() - start) << "; open the report:\n";
  std::cout << report.string() << '\n';
}

}  // namespace

void add_demo(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("demo", "Take a tour: train, sample and score toys, write report.html");
  auto arguments = std::make_shared<DemoArguments>();
  command->add_option("--out", arguments->out, "directory for runs and report");
  command->add_option("--max-time", arguments->max_time,
                      "total training time: 90s, 5m; at least three seconds per toy");
  command->add_option("--count", arguments->count, "samples per toy")->check(CLI::Range(int64_t{1}, kMost));
  command->add_option("--seed", arguments->seed, "seed of all randomness")->check(CLI::Range(int64_t{0}, kMost));
  command->footer("Example: segre demo --out demo");
  command->callback([arguments, &context] { demo(*arguments, context); });
}

}  // namespace segre::cli
