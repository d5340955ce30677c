#include <iomanip>
#include <iostream>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/label_output.h"
#include "cli/options.h"
#include "cli/parts_output.h"
#include "cli/ranks.h"
#include "cli/set_option.h"
#include "segre/config/kinds.h"
#include "segre/core/clock.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/flow/sampler_kinds.h"
#include "segre/tasks/condition_cases.h"
#include "segre/tasks/session.h"

namespace segre::cli {
namespace {

struct SampleArguments {
  std::string run;
  int64_t count = 0;
  std::string out;
  std::string given;
  std::string seed;
  std::string steps;
  std::string sampler;
  std::string t1;
  std::string readout;
  std::string tolerance;
  std::vector<std::string> set;
  std::string device = "cpu";
  std::string checkpoint{};
  bool numbers = false;
  bool json = false;
};

void check_numbers_fit(LabelFormat format, const SampleArguments& arguments, const Space& space) {
  const bool holds = format == LabelFormat::csv || (format == LabelFormat::maps && !space.is(PartKind::image));
  if (arguments.numbers && !holds) fail_input("--numbers: only .csv files can hold numbers; --out is ", arguments.out);
}

void check_numbers(const SampleArguments& arguments, const Space& space) {
  if (!arguments.numbers) return;
  for (int64_t i = 0; i < space.n_variables(); ++i)
    if (space.bins(i) != nullptr) return;
  fail_input("--numbers: the model of ", arguments.run,
             " has no bins to draw numbers from; 'segre train --data csv:FILE?bins=auto' trains one that does");
}

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
void report_samples(const SampleRunResult& result, const Session& session, int64_t n_samples) {
  const LoadedRun& run = session.run();
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

// Where samples go: one file that rank 0 writes, or a folder that all ranks write.
class SampleOutput {
 public:
  SampleOutput(const std::shared_ptr<Ranks>& ranks, const std::string& name)
      : name_(name), format_(label_format("--out", name)) {
    if (format_ == LabelFormat::maps) {
      folder_.emplace(ranks, "--out", name);
    } else {
      file_.emplace(*ranks, "--out", name);
    }
  }
  LabelFormat format() const { return format_; }
  void check(const Space& space, int64_t count) const {
    if (file_) check_label_format(format_, "--out", name_, space, count);
  }
  SampleRunResult fill(const Session& session, const SampleRequest& request, const std::optional<BinValues>& numbers) {
    const Space& space = session.space();
    const LoadedRun& run = session.run();
    const auto& [count, options, seed, condition, as_numbers] = request;
    const auto sampler = session.sampler(options, seed);
    report_condition(run, condition, ask_of(*sampler), "--given");
    const GivenRows given = rows_given(condition, sampler, seed);
    SampleRunResult result;
    if (folder_) {
      const auto draw = [&](const PartsOutput::Add& add) {
        result = with_progress([&](const WorkCallbacks& callbacks) {
          return sample_parts(run, *sampler, count, PartsOutput::blocks_per_part(space), add, callbacks, given);
        });
      };
      folder_->write(space, draw, numbers);
    } else {
      const auto draw = [&](const LabelOutput::Add& add) {
        const auto use = [&](const torch::Tensor& labels, int64_t) { add(labels); };
        result = with_progress(
            [&](const WorkCallbacks& callbacks) { return sample_run(run, *sampler, count, use, callbacks, given); });
      };
      file_->write(space, count, draw, /*per_row=*/0, numbers);
    }
    return result;
  }

 private:
  std::string name_;
  LabelFormat format_;
  std::optional<LabelOutput> file_;
  std::optional<PartsOutput> folder_;
};

void sample(const SampleArguments& arguments, const CLI::App& command, const std::shared_ptr<Ranks>& ranks) {
  JsonOutput json(arguments.json);
  std::optional<SampleOutput> output;
  if (!json) output.emplace(ranks, arguments.out);
  LoadedRun run = load_named(ranks, arguments.run, arguments.device, arguments.checkpoint);
  apply_options(arguments, run.experiment);
  const auto seed = static_cast<uint64_t>(run.experiment.seed);
  const Session session(std::move(run), arguments.run);
  const SamplerKind& sampler = sampler_kind(session.sampling().sampler);
  require_used(command, "--steps", !sampler.adaptive(), "--sampler " + sampler.name);
  require_used(command, "--tolerance", sampler.adaptive(), "--sampler " + sampler.name);
  const Space& space = session.space();
  if (output) output->check(space, arguments.count);
  if (output) check_numbers_fit(output->format(), arguments, space);
  check_numbers(arguments, space);
  SampleRequest request{
      .count = arguments.count, .sample = session.sampling(), .seed = seed, .numbers = arguments.numbers};
  if (!arguments.given.empty()) request.given = parse_condition(space, arguments.given, "--given");
  if (json)
    return json.print(
        with_progress([&](const WorkCallbacks& callbacks) { return session.sample(request, callbacks); }));
  const BinValues numbers{.random = RandomStream(seed, Purpose::bin_values),
                          .names_of_bins = !arguments.numbers,
                          .given = request.given.values()};
  report_samples(output->fill(session, request, numbers), session, arguments.count);
}

}  // namespace

void add_sample(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("sample", "Draw samples from a trained model");
  auto arguments = std::make_shared<SampleArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--count", arguments->count, "samples to draw")->required()->check(CLI::Range(int64_t{1}, kMost));
  command->add_option("--out", arguments->out,
                      "FILE.csv, FILE.npy, FILE.png (a grid of images; of two variables, their histogram), a folder (a "
                      "label map of each image; of a table, "
                      "CSV files in parts and index.csv), or - for CSV on standard output");
  add_json_option(*command, arguments->json);
  command->add_option("--seed", arguments->seed, "seed; sample k depends only on it and k");
  command->add_option(
      "--given", arguments->given,
      "draw given this condition: NAME=LABEL, NAME=A|B, NAME!=LABEL, NAME=30..60, NAME>30, NAME<=60, ... separated by "
      "commas (%2C is a comma within one), or the labels of the first item of FILE.csv, FILE.npy or a SOURCE, whose "
      "missing values are not given");
  command->add_option("--sampler", arguments->sampler, list_kinds(sampler_kinds()));
  command->add_option("--steps", arguments->steps, "integration steps; dopri5 chooses its own; erasure: evaluations");
  command->add_option("--tolerance", arguments->tolerance, "error allowed per step, relative to 1 + |v| (dopri5)");
  command->add_option("--t1", arguments->t1,
                      "read labels at this time; 0: as set by sample.stop, by default at the decision time");
  command->add_option("--readout", arguments->readout,
                      "argmax, matched (drawn from the path's Bayes rule), segre (drawn from T(W), W = softmax(v))");
  command->add_flag("--numbers", arguments->numbers,
                    "write a number or date drawn within each bin (bins= of csv:) instead of the bin's name");
  add_set_option(*command, arguments->set, "sample.stop=end");
  add_device_option(*command, arguments->device);
  add_checkpoint_option(*command, arguments->checkpoint);
  command->footer("Example: segre sample runs/pinwheel --count 1000 --out samples.csv");
  command->callback([arguments, command] {
    require_out(arguments->out, arguments->json);
    refuse_out("--out", arguments->out, arguments->json);
    over_ranks([&](const auto& ranks) { sample(*arguments, *command, ranks); });
  });
}

}  // namespace segre::cli
