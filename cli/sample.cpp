#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/gather.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/eval/total_variation.h"
#include "segre/experiment/run.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/io/npy.h"
#include "segre/report/picture.h"

namespace segre::cli {
namespace {

struct SampleArguments {
  std::string run;
  int64_t count = 0;
  std::string out;
  std::string seed;
  int64_t steps = 0;
  std::string sampler;
  std::string t1;
  std::string readout;
  std::string tolerance;
  std::vector<std::string> set;
  std::string device = "cpu";
  std::string checkpoint = "last";
};

enum class Format { csv, npy, picture, maps };

constexpr int64_t kMostInPicture = 4096;

Format format_of(const SampleArguments& arguments, const Space& space) {
  const std::string& out = arguments.out;
  const auto extension = std::filesystem::path(out).extension().string();
  if (extension == ".csv" || out == "-") return Format::csv;
  if (extension == ".npy") return Format::npy;
  const bool folder = extension.empty();
  if ((extension == ".png" || folder) && space.layout() != Layout::image)
    fail_input("--out ", out, ": pictures are drawn of images, this model is a ", space.describe(),
               "; use .csv or .npy");
  if (extension == ".png" && arguments.count > kMostInPicture)
    fail_input("--out ", out, ": one picture holds up to ", kMostInPicture, " samples, --count is ", arguments.count,
               "; give a folder for one file each");
  if (extension == ".png") return Format::picture;
  if (folder) return Format::maps;
  fail_input("--out ", out,
             ": expected a file that ends in .csv, .npy or .png, a folder for label maps, or - for CSV on standard "
             "output");
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

// What drawing needs beside the sampler.
struct Drawing {
  const Sampler& sampler;
  const Space& space;
  int64_t count;
  LabelingCounts* counts;  // or nullptr
  int64_t n_undecided = 0;
  int64_t n_evaluations = 0;

  // Hands the samples over, batch by batch: use(labels, number of the first).
  template <class Use>
  void run(Use&& use) {
    Progress progress("sample", count);
    const int64_t batch = sampler.rows_per_block() * 32;
    for (int64_t done = 0; done < count; done += batch) {
      const Samples samples = sampler.draw(static_cast<uint64_t>(done), std::min(batch, count - done));
      n_undecided += samples.n_undecided;
      n_evaluations += samples.n_evaluations;
      if (counts != nullptr) counts->add(samples.labels);
      use(samples.labels, done);
      progress.update(done + samples.labels.size(0));
    }
  }
};

void write_table(Drawing& drawing, std::ostream& out, Format format) {
  if (format == Format::npy) write_npy_header(out, drawing.space, drawing.count);
  drawing.run([&](const torch::Tensor& labels, int64_t first) {
    if (format == Format::npy) {
      write_npy_labels(out, drawing.space, labels);
    } else {
      write_labels_csv(out, drawing.space, labels, /*with_header=*/first == 0);
    }
  });
}

void write_picture(Drawing& drawing, const std::string& path) {
  std::vector<torch::Tensor> all;
  drawing.run([&](const torch::Tensor& labels, int64_t) { all.push_back(labels); });
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(drawing.count))));
  write_label_grid(path, drawing.space, torch::cat(all), columns);
}

void write_maps(Drawing& drawing, const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder))
    fail_input("--out ", folder.string(), ": is not empty; choose a new folder for the label maps");
  std::filesystem::remove(folder);
  write_directory_whole(folder, [&](const std::filesystem::path& into) {
    drawing.run(
        [&](const torch::Tensor& labels, int64_t first) { write_label_maps(into, drawing.space, labels, first); });
  });
}

// The run's options of sampling, changed as the command line says.
void apply_options(const SampleArguments& arguments, Experiment& experiment) {
  auto schema = schema_of(experiment);
  for (const auto& assignment : arguments.set) {
    if (!assignment.starts_with("sample."))
      fail_input("--set ", assignment, ": only keys of sample.* can be changed after training");
    schema.set(assignment);
  }
  if (!arguments.sampler.empty()) {
    check_sampler(arguments.sampler);
    experiment.sample.sampler = arguments.sampler;
  }
  if (arguments.steps > 0) experiment.sample.steps = arguments.steps;
  if (!arguments.seed.empty()) schema.set("seed=" + arguments.seed, "--seed");
  if (!arguments.t1.empty()) schema.set("sample.t1=" + arguments.t1, "--t1");
  if (!arguments.readout.empty()) schema.set("sample.readout=" + arguments.readout, "--readout");
  if (!arguments.tolerance.empty()) schema.set("sample.tolerance=" + arguments.tolerance, "--tolerance");
}

// What the samples took, for people.
void report(const Drawing& drawing, const SampleOptions& options, double seconds) {
  const auto count = static_cast<double>(drawing.count);
  const double share =
      static_cast<double>(drawing.n_undecided) / (count * static_cast<double>(drawing.space.n_variables()));
  // The adaptive sampler takes another number for each sample.
  const int digits = options.sampler == "dopri5" ? 1 : 0;
  std::cerr << drawing.count << " samples in " << format_seconds(seconds) << ", " << std::fixed
            << std::setprecision(digits) << static_cast<double>(drawing.n_evaluations) / count << std::defaultfloat
            << " evaluations each (" << options.sampler << " to t = " << std::setprecision(3) << drawing.sampler.t1()
            << "), " << 100.0 * share << "% of variables undecided\n";
}

void sample(const SampleArguments& arguments) {
  LoadedRun run = load_run(arguments.run, parse_device(arguments.device), parse_checkpoint(arguments.checkpoint));
  apply_options(arguments, run.experiment);
  const auto seed = static_cast<uint64_t>(run.experiment.seed);
  const Space& space = run.model.space();
  const Format format = format_of(arguments, space);
  const Sampler sampler(run.model, run.experiment.sample, seed);
  const auto source = known_source(run);
  std::optional<LabelingCounts> counts;
  if (source) counts.emplace(space);

  const double start = now_seconds();
  Drawing drawing{sampler, space, arguments.count, counts ? &*counts : nullptr};
  if (format == Format::picture) {
    write_picture(drawing, arguments.out);
  } else if (format == Format::maps) {
    write_maps(drawing, arguments.out);
  } else if (arguments.out == "-") {
    write_table(drawing, std::cout, format);
    if (!std::cout.flush()) fail("writing to standard output failed");
  } else {
    write_file_whole(arguments.out, [&](std::ostream& out) { write_table(drawing, out, format); });
  }
  report(drawing, run.experiment.sample, now_seconds() - start);
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
  command
      ->add_option("--out", arguments->out,
                   "FILE.csv, FILE.npy, FILE.png (a grid of images), a folder (a label map each), or - for CSV on "
                   "standard output")
      ->required();
  command->add_option("--seed", arguments->seed, "seed; sample k depends on it and k alone");
  command->add_option("--sampler", arguments->sampler,
                      "euler, midpoint, heun, rk4, ab2 (two-step Adams-Bashforth), multistep (second order in the "
                      "endpoint form), dopri5 (adaptive), sde (stochastic, the same marginals)");
  command->add_option("--steps", arguments->steps, "integration steps; dopri5 chooses its own")
      ->check(CLI::Range(int64_t{1}, kMost));
  command->add_option("--tolerance", arguments->tolerance, "error allowed per step, relative to 1 + |v| (dopri5)");
  command->add_option("--t1", arguments->t1,
                      "read labels at this time; 0: at the decision time, or where sample.stop says");
  command->add_option("--readout", arguments->readout,
                      "argmax, matched (drawn from the path's Bayes rule), segre (drawn from T(W), W = softmax(v))");
  command->add_option("--set", arguments->set, "override a key of the config: --set sample.stop=end")
      ->allow_extra_args(false);
  command->add_option("--device", arguments->device, "cpu, cuda or cuda:N");
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer("Example: segre sample runs/pinwheel --count 1000 --out samples.csv");
  command->callback([arguments] { sample(*arguments); });
}

}  // namespace segre::cli
