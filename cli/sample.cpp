#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/eval/total_variation.h"
#include "segre/experiment/run.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/io/npy.h"

namespace segre::cli {
namespace {

struct SampleArguments {
  std::string run;
  int64_t count = 0;
  std::string out;
  std::string seed;
  int64_t steps = 0;
  std::string sampler;
  std::vector<std::string> set;
  std::string device = "cpu";
};

enum class Format { csv, npy };

Format format_of(const std::string& out, const Space& space) {
  const auto extension = std::filesystem::path(out).extension().string();
  if (extension == ".csv" || out == "-") return Format::csv;
  if (extension == ".npy") return Format::npy;
  if (extension == ".png" && space.layout() != Layout::image)
    fail_input("--out ", out, ": pictures are drawn of images, this model is a ", space.describe(),
               "; use .csv or .npy");
  fail_input("--out ", out, ": expected a file that ends in .csv or .npy, or - for CSV on standard output");
}

// The known distribution a run was trained on, if its source still opens, has one, and has the model's variables.
std::unique_ptr<DataSource> known_source(const LoadedRun& run) {
  try {
    auto source = open_source(run.experiment.data);
    const bool same = source->space().to_json() == run.model.space().to_json();
    return same && source->joint() != nullptr && LabelingCounts::serves(source->space()) ? std::move(source) : nullptr;
  } catch (const InputError&) {
    return nullptr;
  }
}

// Streams samples to `out`, batch by batch.
int64_t stream(const Sampler& sampler, const Space& space, int64_t count, Format format, std::ostream& out,
               LabelingCounts* counts) {
  Progress progress("sample", count);
  const int64_t batch = sampler.rows_per_block() * 32;
  int64_t undecided = 0;
  if (format == Format::npy) write_npy_header(out, space, count);
  for (int64_t done = 0; done < count; done += batch) {
    const Samples samples = sampler.draw(static_cast<uint64_t>(done), std::min(batch, count - done));
    undecided += samples.n_undecided;
    if (format == Format::npy) {
      write_npy_labels(out, space, samples.labels);
    } else {
      write_labels_csv(out, space, samples.labels, /*with_header=*/done == 0);
    }
    if (counts != nullptr) counts->add(samples.labels);
    progress.update(done + samples.labels.size(0));
  }
  return undecided;
}

void sample(const SampleArguments& arguments) {
  LoadedRun run = load_run(arguments.run, parse_device(arguments.device));
  auto schema = schema_of(run.experiment);
  for (const auto& assignment : arguments.set) {
    if (!assignment.starts_with("sample."))
      fail_input("--set ", assignment, ": only keys of sample.* can be changed after training");
    schema.set(assignment);
  }
  if (!arguments.sampler.empty()) run.experiment.sample.sampler = stepper(arguments.sampler).name;
  if (!arguments.seed.empty()) schema.set("seed=" + arguments.seed, "--seed");
  if (arguments.steps > 0) run.experiment.sample.steps = arguments.steps;
  const auto seed = static_cast<uint64_t>(run.experiment.seed);
  const Space& space = run.model.space();
  const Format format = format_of(arguments.out, space);
  const Sampler sampler(run.model, run.experiment.sample, seed);
  const auto source = known_source(run);
  std::optional<LabelingCounts> counts;
  if (source) counts.emplace(space);

  const double start = now_seconds();
  int64_t undecided = 0;
  const auto write = [&](std::ostream& out) {
    undecided = stream(sampler, space, arguments.count, format, out, counts ? &*counts : nullptr);
  };
  if (arguments.out == "-") {
    write(std::cout);
    if (!std::cout.flush()) fail("writing to standard output failed");
  } else {
    write_file_whole(arguments.out, write);
  }
  const double share = static_cast<double>(undecided) / static_cast<double>(arguments.count * space.n_variables());
  std::cerr << arguments.count << " samples in " << format_seconds(now_seconds() - start) << ", "
            << sampler.n_evaluations() << " evaluations each (" << run.experiment.sample.sampler
            << " to t = " << std::setprecision(3) << sampler.t1() << "), " << 100.0 * share
            << "% of variables undecided\n";
  if (counts)
    std::cerr << "total variation to " << run.experiment.data << ": " << std::fixed << std::setprecision(4)
              << total_variation(*source->joint(), *counts) << " (0 is best; exact samples give "
              << total_variation_floor(*source->joint(), arguments.count) << " on average)\n";
}

}  // namespace

void add_sample(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("sample", "Draw samples from a trained model");
  auto arguments = std::make_shared<SampleArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--count", arguments->count, "how many")->required()->check(CLI::Range(int64_t{1}, kMost));
  command->add_option("--out", arguments->out, "FILE.csv, FILE.npy, or - for CSV on standard output")->required();
  command->add_option("--seed", arguments->seed, "seed; sample k depends on it and k alone");
  command->add_option("--steps", arguments->steps, "integration steps")->check(CLI::Range(int64_t{1}, kMost));
  command->add_option("--sampler", arguments->sampler, "euler, midpoint, heun, rk4");
  command->add_option("--set", arguments->set, "override a key of the config: --set sample.stop=end")
      ->allow_extra_args(false);
  command->add_option("--device", arguments->device, "cpu, cuda or cuda:N");
  command->footer("Example: segre sample runs/pinwheel --count 1000 --out samples.csv");
  command->callback([arguments] { sample(*arguments); });
}

}  // namespace segre::cli
