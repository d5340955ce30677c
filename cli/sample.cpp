#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/set_option.h"
#include "cli/show_work.h"
#include "segre/config/kinds.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/flow/sampler_kinds.h"
#include "segre/io/csv.h"
#include "segre/io/npy.h"
#include "segre/io/output.h"
#include "segre/report/picture.h"
#include "segre/tasks/sample_run.h"

namespace segre::cli {
namespace {

struct SampleArguments {
  std::string run;
  int64_t count = 0;
  std::string out;
  std::string seed;
  std::string steps;
  std::string sampler;
  std::string t1;
  std::string readout;
  std::string tolerance;
  std::vector<std::string> set;
  std::string device = "cpu";
  std::string checkpoint = "last";
  bool numbers = false;
};

enum class Format { csv, npy, picture, maps };

constexpr int64_t kMostInPicture = 4096;

// Depends only on the name, so that it can be checked before the model is read. Anything that is neither a file nor a
// folder, such as /dev/null or a pipe, gets CSV.
Format format_of(const std::string& out) {
  const auto extension = std::filesystem::path(out).extension().string();
  std::error_code ignored;
  const bool device = extension.empty() && (std::filesystem::is_other(out, ignored) || out.starts_with("/dev/"));
  if (extension == ".csv" || out == "-" || device) return Format::csv;
  if (extension == ".npy") return Format::npy;
  if (extension == ".png") return Format::picture;
  if (extension.empty()) return Format::maps;
  fail_input("--out ", out,
             ": expected a file that ends in .csv, .npy or .png, a folder for label maps, or - for CSV on standard "
             "output");
}

void check_format(Format format, const SampleArguments& arguments, const Space& space) {
  const std::string& out = arguments.out;
  if ((format == Format::picture || format == Format::maps) && space.layout() != Layout::image)
    fail_input("--out ", out, ": pictures need image data; this model is a ", space.describe(), "; use .csv or .npy");
  if (format == Format::picture && arguments.count > kMostInPicture)
    fail_input("--out ", out, ": one picture holds up to ", kMostInPicture, " samples, --count is ", arguments.count,
               "; give a folder for one file each");
}

void check_numbers(Format format, const SampleArguments& arguments, const Space& space) {
  if (!arguments.numbers) return;
  if (format != Format::csv) fail_input("--numbers: only .csv files can hold numbers; --out is ", arguments.out);
  for (int64_t i = 0; i < space.n_variables(); ++i)
    if (space.bins(i) != nullptr) return;
  fail_input("--numbers: the model of ", arguments.run,
             " has no bins to draw numbers from; 'segre train --data csv:FILE?bins=auto' trains one that does");
}

// Writes each batch of samples as it is drawn; a picture is encoded at the end.
class SampleWriter {
 public:
  SampleWriter(Format format, const SampleArguments& arguments, const Space& space, uint64_t seed)
      : format_(format), space_(space), count_(arguments.count) {
    if (arguments.numbers) numbers_ = RandomStream(seed, Purpose::bin_values);
  }

  void add(std::ostream& out, const torch::Tensor& labels, int64_t first) const {
    if (format_ == Format::npy) {
      if (first == 0) write_npy_header(out, space_, count_);
      return write_npy_labels(out, space_, labels);
    }
    std::optional<BinValues> values;
    if (numbers_) values = {*numbers_, static_cast<uint64_t>(first)};
    write_labels_csv(out, space_, labels, /*with_header=*/first == 0, values);
  }

  std::string picture(const std::vector<torch::Tensor>& all) const {
    const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count_))));
    return label_grid_png(space_, torch::cat(all), columns);
  }

 private:
  Format format_;
  const Space& space_;
  int64_t count_;
  std::optional<RandomStream> numbers_;  // values of bins instead of their names
};

// Applies command-line options to the run's sampling options.
void apply_options(const SampleArguments& arguments, Experiment& experiment) {
  set_sample_keys(experiment, arguments.set);
  auto schema = schema_of(experiment);
  if (!arguments.sampler.empty()) experiment.sample.sampler = sampler_kind(arguments.sampler).name;
  if (!arguments.steps.empty()) schema.set("sample.steps=" + arguments.steps, "--steps");
  if (!arguments.seed.empty()) schema.set("seed=" + arguments.seed, "--seed");
  if (!arguments.t1.empty()) schema.set("sample.t1=" + arguments.t1, "--t1");
  if (!arguments.readout.empty()) schema.set("sample.readout=" + arguments.readout, "--readout");
  if (!arguments.tolerance.empty()) schema.set("sample.tolerance=" + arguments.tolerance, "--tolerance");
}

// Prints time, evaluations and, if known, total variation.
void report(const SampleRunResult& result, const LoadedRun& run, int64_t n_samples) {
  const auto count = static_cast<double>(n_samples);
  const SampleOptions& options = run.experiment.sample;
  const double share =
      static_cast<double>(result.totals.n_undecided) / (count * static_cast<double>(run.model.space().n_variables()));
  // With an adaptive sampler the number varies between samples.
  const int digits = sampler_kind(options.sampler).adaptive() ? 1 : 0;
  std::cerr << n_samples << " samples in " << format_seconds(result.seconds) << ", " << std::fixed
            << std::setprecision(digits) << static_cast<double>(result.totals.n_evaluations) / count
            << std::defaultfloat << " evaluations each (" << options.sampler << " to t = " << std::setprecision(3)
            << result.t1 << "), " << 100.0 * share << "% of variables undecided\n";
  if (const auto& known = result.total_variation)
    std::cerr << "total variation to " << run.experiment.data << ": " << std::fixed << std::setprecision(4)
              << known->value << " (0 is best; exact samples give " << known->floor << " on average)\n";
}

using Use = std::function<void(const torch::Tensor& labels, int64_t first)>;

SampleRunResult draw(const SampleArguments& arguments, const LoadedRun& run, const Use& use) {
  return with_progress([&](const WorkCallbacks& callbacks) {
    return sample_run(run, run.experiment.sample, static_cast<uint64_t>(run.experiment.seed), arguments.count, use,
                      callbacks);
  });
}

SampleRunResult write_file(const SampleArguments& arguments, const LoadedRun& run, Format format, OutputFile& file) {
  const SampleWriter writer(format, arguments, run.model.space(), static_cast<uint64_t>(run.experiment.seed));
  SampleRunResult result;
  if (format != Format::picture) {
    file.write([&](std::ostream& out) {
      result =
          draw(arguments, run, [&](const torch::Tensor& labels, int64_t first) { writer.add(out, labels, first); });
    });
    return result;
  }
  std::vector<torch::Tensor> all;
  result = draw(arguments, run, [&](const torch::Tensor& labels, int64_t) { all.push_back(labels); });
  const std::string png = writer.picture(all);
  file.write([&](std::ostream& out) { out << png; });
  return result;
}

SampleRunResult write_maps(const SampleArguments& arguments, const LoadedRun& run, NewOutputFolder& folder) {
  SampleRunResult result;
  folder.write([&](const std::filesystem::path& into) {
    result = draw(arguments, run, [&](const torch::Tensor& labels, int64_t first) {
      write_label_maps(into, run.model.space(), labels, first);
    });
  });
  return result;
}

void sample(const SampleArguments& arguments, const CLI::App& command) {
  const Format format = format_of(arguments.out);
  std::optional<OutputFile> file;
  std::optional<NewOutputFolder> folder;
  if (format == Format::maps) {
    folder.emplace("--out", arguments.out);
  } else {
    file.emplace("--out", arguments.out);
  }
  LoadedRun run = load_named(arguments.run, arguments.device, arguments.checkpoint);
  apply_options(arguments, run.experiment);
  const SamplerKind& sampler = sampler_kind(run.experiment.sample.sampler);
  require_used(command, "--steps", !sampler.adaptive(), "--sampler " + sampler.name);
  require_used(command, "--tolerance", sampler.adaptive(), "--sampler " + sampler.name);
  check_format(format, arguments, run.model.space());
  check_numbers(format, arguments, run.model.space());
  const SampleRunResult result =
      folder ? write_maps(arguments, run, *folder) : write_file(arguments, run, format, *file);
  report(result, run, arguments.count);
}

}  // namespace

void add_sample(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("sample", "Draw samples from a trained model");
  auto arguments = std::make_shared<SampleArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--count", arguments->count, "samples to draw")->required()->check(CLI::Range(int64_t{1}, kMost));
  command
      ->add_option("--out", arguments->out,
                   "FILE.csv, FILE.npy, FILE.png (a grid of images), a folder (one label map each), or - for CSV on "
                   "standard output")
      ->required();
  command->add_option("--seed", arguments->seed, "seed; sample k depends only on it and k");
  command->add_option("--sampler", arguments->sampler, list_kinds(sampler_kinds()));
  command->add_option("--steps", arguments->steps, "integration steps; dopri5 chooses its own");
  command->add_option("--tolerance", arguments->tolerance, "error allowed per step, relative to 1 + |v| (dopri5)");
  command->add_option("--t1", arguments->t1,
                      "read labels at this time; 0: at the decision time, or as sample.stop says");
  command->add_option("--readout", arguments->readout,
                      "argmax, matched (drawn from the path's Bayes rule), segre (drawn from T(W), W = softmax(v))");
  command->add_flag("--numbers", arguments->numbers,
                    "write a number or date drawn within each bin (bins= of csv:) instead of the bin's name");
  add_set_option(*command, arguments->set, "sample.stop=end");
  add_device_option(*command, arguments->device);
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer("Example: segre sample runs/pinwheel --count 1000 --out samples.csv");
  command->callback([arguments, command] { sample(*arguments, *command); });
}

}  // namespace segre::cli
