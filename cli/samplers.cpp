// segre samplers: how many evaluations of the network each sampler needs.

#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/gather.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/data/relabel.h"
#include "segre/data/split.h"
#include "segre/eval/metric_text.h"
#include "segre/eval/sampler_quality.h"
#include "segre/experiment/run.h"
#include "segre/io/csv.h"
#include "segre/io/output.h"
#include "segre/report/page.h"
#include "segre/report/sampler_figures.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct SamplersArguments {
  std::string run;
  std::string out;
  std::string data;
  int64_t count = 256;
  int64_t reference_steps = 1000;
  int64_t most_evaluations = 200;
  double threshold = 5e-3;
  int64_t seed = 1;
  std::string device = "cpu";
  std::string checkpoint = "last";
};

constexpr int64_t kMostDataItems = 10'000;

std::optional<LabelSummary> summarise_data(const std::string& name, const Space& space) {
  if (name.empty()) return std::nullopt;
  const auto source = open_source_for(space, name, "--data " + name);
  return summarise_labels(space, chosen_items(*source, kMostDataItems));
}

void write_csv(const fs::path& path, const QualityTable& table) {
  write_file_whole(path, [&](std::ostream& out) {
    const auto line = [&](const std::vector<std::string>& fields) {
      for (size_t k = 0; k < fields.size(); ++k) out << (k > 0 ? "," : "") << csv_field(fields[k]);
      out << '\n';
    };
    line(table.header);
    for (const auto& row : table.rows) line(row);
  });
}

void print_table(const QualityTable& table) {
  const auto line = [&](const std::vector<std::string>& fields) {
    for (size_t k = 0; k < fields.size(); ++k)
      std::cout << (k == 0 ? std::left : std::right)
                << std::setw(k == 0 ? 10 : static_cast<int>(table.header[k].size()) + 2) << fields[k];
    std::cout << '\n';
  };
  line(table.header);
  for (const auto& row : table.rows) line(row);
}

std::string describe(const SamplerRun& run) {
  const std::string setting = run.options.sampler == "dopri5" ? concat("tolerance ", run.options.tolerance)
                                                              : concat(run.options.steps, " steps");
  std::string differ = concat(percent_text(run.disagreement), " differ");
  if (!std::isnan(run.disagreement_high))
    differ +=
        concat(" (95% interval ", percent_text(run.disagreement_low), " to ", percent_text(run.disagreement_high), ")");
  return concat(run.options.sampler, " with ", setting, ", ", run.n_evaluations, " evaluations, ", differ);
}

// What stands for a knee that was not found.
std::string describe_lack(const SamplerQuality& quality, const std::string& sampler,
                          const SamplersArguments& arguments) {
  const auto near = unconfirmed_knee(quality, sampler, arguments.threshold);
  if (!near) return concat(sampler, ": at none of the settings tried");
  const auto needed = std::ceil(near->more_samples * static_cast<double>(arguments.count));
  return concat(sampler, ": not known from ", arguments.count, " samples; with ", near->run.n_evaluations,
                " evaluations ", 100.0 * near->run.disagreement, "% of the labels differ, but up to ",
                100.0 * disagreement_limit(near->run), "% may: --count ", static_cast<int64_t>(std::min(needed, 1e12)),
                " would tell");
}

// One line per sampler, and which is best.
std::vector<std::string> describe_knees(const SamplerQuality& quality, const SamplersArguments& arguments) {
  const double threshold = arguments.threshold;
  std::vector<std::string> lines;
  for (const std::string& sampler : sampler_names()) {
    if (!is_deterministic(sampler)) continue;
    const auto found = knee(quality, sampler, threshold);
    lines.push_back(found ? describe(*found) : describe_lack(quality, sampler, arguments));
  }
  const auto best = best_knee(quality, threshold);
  lines.push_back(best ? concat("fewest: ", describe(*best)) : "no sampler is known to get there");
  return lines;
}

void write_page(const fs::path& path, const SamplersArguments& arguments, const SamplerQuality& quality,
                const LabelSummary* data, int64_t n_variables, const fs::path& plotly) {
  Page page("Samplers: quality against evaluations");
  page.text(concat(arguments.count, " samples of ", arguments.run, " by every sampler, from the same noise, against ",
                   arguments.reference_steps, " steps of rk4."));
  page.heading("Labels that differ from the reference");
  const double smallest = 0.5 / static_cast<double>(arguments.count * n_variables);
  const Figure disagreement = disagreement_curves(quality, arguments.threshold, smallest);
  page.chart(disagreement.traces, disagreement.layout);
  page.caption(concat("Lower is better. Runs without any difference are drawn at half a label, ", smallest,
                      ". Where a curve stays below the dashed line its sampler is as good as the reference:"));
  for (const std::string& line : describe_knees(quality, arguments)) page.text(line);
  page.heading("Labels that are not 0");
  const Figure nonzero = nonzero_curves(quality, data);
  page.chart(nonzero.traces, nonzero.layout);
  page.caption(
      concat("Closer to the reference is better. The samples of sde are others: their mean scatters about it by ",
             quality.reference.summary.nonzero_sd * std::sqrt(2.0 / static_cast<double>(arguments.count)),
             " (one standard deviation)."));
  page.heading("All runs");
  const QualityTable table = quality_table(quality, data);
  page.table(table.header, table.rows);
  page.write(path, plotly);
}

void compare(const SamplersArguments& arguments) {
  const fs::path plotly = plotly_file();
  const OutputFolder out("--out", arguments.out, {"samplers.csv", "samplers.html"});
  const LoadedRun run = load_run(arguments.run, parse_device(arguments.device), parse_checkpoint(arguments.checkpoint));
  const Space& space = run.model.space();
  const auto data = summarise_data(arguments.data, space);
  SamplerQuality quality;
  {
    Progress progress("samplers", 1000);
    quality = measure_samplers(flow_of(run.model),
                               {.count = arguments.count,
                                .reference_steps = arguments.reference_steps,
                                .most_evaluations = arguments.most_evaluations,
                                .sample = run.experiment.sample,
                                .seed = static_cast<uint64_t>(arguments.seed)},
                               [&](int64_t done, const std::string& next) { progress.update(done, next); });
  }
  const LabelSummary* held_out = data ? &*data : nullptr;
  const QualityTable table = quality_table(quality, held_out);
  write_csv(out.path() / "samplers.csv", table);
  write_page(out.path() / "samplers.html", arguments, quality, held_out, space.n_variables(), plotly);
  print_table(table);
  std::cout << "\nwhere at most " << 100.0 * arguments.threshold << "% of the labels differ from the reference:\n";
  for (const std::string& line : describe_knees(quality, arguments)) std::cout << "  " << line << '\n';
  std::cerr << "wrote " << (out.path() / "samplers.html").string() << '\n';
}

}  // namespace

void add_samplers(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("samplers", "How good each sampler is for its evaluations of the network");
  auto arguments = std::make_shared<SamplersArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--out", arguments->out, "directory for samplers.csv and samplers.html")->required();
  command->add_option("--count", arguments->count, "samples drawn by each sampler at each setting")
      ->check(CLI::Range(int64_t{1}, kMost));
  command->add_option("--reference-steps", arguments->reference_steps, "rk4 steps of the run all others are held to")
      ->check(CLI::Range(int64_t{1}, kMostSteps));
  command->add_option("--most", arguments->most_evaluations, "evaluations per sample of the dearest settings tried")
      ->check(CLI::Range(int64_t{4}, int64_t{200}));
  command->add_option("--data", arguments->data, "held-out items whose statistics are shown beside");
  command
      ->add_option("--threshold", arguments->threshold,
                   "share of labels that may differ from the reference: the knee of a sampler is its cheapest setting "
                   "that stays below, as all dearer ones do, with the upper end of its 95% interval. At the default, "
                   "five labels in a thousand, pictures and their "
                   "statistics cannot be told from the reference's")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", arguments->seed, "seed of the noise all start from")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--device", arguments->device, "cpu, cuda or cuda:N");
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer("Example: segre samplers models/mnist --out samplers --count 64");
  command->callback([arguments] { compare(*arguments); });
}

}  // namespace segre::cli
