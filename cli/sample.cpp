#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/gather.h"
#include "cli/set_option.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/data/source_kinds.h"
#include "segre/eval/total_variation.h"
#include "segre/experiment/run.h"
#include "segre/io/csv.h"
#include "segre/io/npy.h"
#include "segre/io/output.h"
#include "segre/report/picture.h"

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

// By the name alone, so that it can be tried before the model is read. What exists and is neither a file nor a folder,
// such as /dev/null or a pipe, takes CSV.
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
    fail_input("--out ", out, ": pictures are drawn of images, this model is a ", space.describe(),
               "; use .csv or .npy");
  if (format == Format::picture && arguments.count > kMostInPicture)
    fail_input("--out ", out, ": one picture holds up to ", kMostInPicture, " samples, --count is ", arguments.count,
               "; give a folder for one file each");
}

void check_numbers(Format format, const SampleArguments& arguments, const Space& space) {
  if (!arguments.numbers) return;
  if (format != Format::csv) fail_input("--numbers: numbers are written into .csv files, --out is ", arguments.out);
  for (int64_t i = 0; i < space.n_variables(); ++i)
    if (space.bins(i) != nullptr) return;
  fail_input("--numbers: the model of ", arguments.run,
             " has no bins to draw numbers from; 'segre train --data csv:FILE?bins=auto' makes one that has");
}

// Whether a source's exact distribution is known and cheap to have, told by its name and the size of its file alone.
bool is_cheap(const SourceName& name) {
  constexpr uintmax_t kLargestTable = 1 << 20;  // bytes of a joint table: a moment to read
  if (!is_exact(name)) return false;
  return !name.has_target() || (std::filesystem::is_regular_file(name.target()) &&
                                std::filesystem::file_size(name.target()) <= kLargestTable);
}

// The known distribution that a run was trained on, if it is cheap to have and still the same. No other data are
// opened: those of a trained model may be large, or gone.
std::unique_ptr<DataSource> known_source(const LoadedRun& run) {
  const std::string& data = run.experiment.data;
  if (!LabelingCounts::serves(run.model.space())) return nullptr;
  try {
    if (!is_cheap(parse_source_name(data))) return nullptr;
    auto source = open_source(data);
    const bool same = source->space().to_json() == run.model.space().to_json() &&
                      (!run.data || run.data->items == fingerprint_of(*source, data));
    return same && source->joint() != nullptr ? std::move(source) : nullptr;
  } catch (const std::exception&) {
    return nullptr;  // the samples do not need it
  }
}

// What drawing needs beside the sampler.
struct Drawing {
  const Sampler& sampler;
  const Space& space;
  int64_t count;
  LabelingCounts* counts;               // or nullptr
  std::optional<RandomStream> numbers;  // values of bins instead of their names
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
      std::optional<BinValues> values;
      if (drawing.numbers) values = {*drawing.numbers, static_cast<uint64_t>(first)};
      write_labels_csv(out, drawing.space, labels, /*with_header=*/first == 0, values);
    }
  });
}

void write_picture(Drawing& drawing, OutputFile& file) {
  std::vector<torch::Tensor> all;
  drawing.run([&](const torch::Tensor& labels, int64_t) { all.push_back(labels); });
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(drawing.count))));
  const std::string png = label_grid_png(drawing.space, torch::cat(all), columns);
  file.write([&](std::ostream& out) { out << png; });
}

void write_maps(Drawing& drawing, NewOutputFolder& folder) {
  folder.write([&](const std::filesystem::path& into) {
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
  if (!arguments.steps.empty()) schema.set("sample.steps=" + arguments.steps, "--steps");
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

void sample(const SampleArguments& arguments, const CLI::App& command) {
  const Format format = format_of(arguments.out);
  std::optional<OutputFile> file;
  std::optional<NewOutputFolder> folder;
  if (format == Format::maps) {
    folder.emplace("--out", arguments.out);
  } else {
    file.emplace("--out", arguments.out);
  }
  LoadedRun run = load_run(arguments.run, parse_device(arguments.device), parse_checkpoint(arguments.checkpoint));
  apply_options(arguments, run.experiment);
  const std::string& sampler_name = run.experiment.sample.sampler;
  const bool adaptive = sampler_name == "dopri5";
  require_used(command, "--steps", !adaptive, "--sampler " + sampler_name);
  require_used(command, "--tolerance", adaptive, "--sampler " + sampler_name);
  const auto seed = static_cast<uint64_t>(run.experiment.seed);
  const Space& space = run.model.space();
  check_format(format, arguments, space);
  check_numbers(format, arguments, space);
  const Sampler sampler(run.model, run.experiment.sample, seed);
  const auto source = known_source(run);
  std::optional<LabelingCounts> counts;
  if (source) counts.emplace(space);

  const double start = now_seconds();
  Drawing drawing{sampler, space, arguments.count, counts ? &*counts : nullptr, {}};
  if (arguments.numbers) drawing.numbers = RandomStream(seed, Purpose::bin_values);
  if (format == Format::picture) {
    write_picture(drawing, *file);
  } else if (format == Format::maps) {
    write_maps(drawing, *folder);
  } else {
    file->write([&](std::ostream& out) { write_table(drawing, out, format); });
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
  command->add_option("--steps", arguments->steps, "integration steps; dopri5 chooses its own");
  command->add_option("--tolerance", arguments->tolerance, "error allowed per step, relative to 1 + |v| (dopri5)");
  command->add_option("--t1", arguments->t1,
                      "read labels at this time; 0: at the decision time, or where sample.stop says");
  command->add_option("--readout", arguments->readout,
                      "argmax, matched (drawn from the path's Bayes rule), segre (drawn from T(W), W = softmax(v))");
  command->add_flag("--numbers", arguments->numbers,
                    "write a number or date drawn within each bin (bins= of csv:) instead of the bin's name");
  add_set_option(*command, arguments->set, "sample.stop=end");
  command->add_option("--device", arguments->device, "cpu, cuda or cuda:N");
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer("Example: segre sample runs/pinwheel --count 1000 --out samples.csv");
  command->callback([arguments, command] { sample(*arguments, *command); });
}

}  // namespace segre::cli
