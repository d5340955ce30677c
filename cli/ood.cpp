// segre ood: which score detects items outside the learned distribution.

#include <filesystem>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/trace_options.h"
#include "segre/core/error.h"
#include "segre/core/progress.h"
#include "segre/core/text.h"
#include "segre/io/output.h"
#include "segre/ood/verdict.h"
#include "segre/tasks/session.h"

namespace segre::cli {
namespace {

namespace fs = std::filesystem;

struct OodArguments {
  std::string run;
  std::string inside;
  std::string outside;
  std::string train;
  std::string out;
  bool json = false;
  int64_t items = 1000;
  int64_t calibration = 512;
  std::string bound = "free";
  int64_t times = 32;
  int64_t draws = 4;
  TraceArguments trace{.kind = "hutchinson"};
  std::string mass = "0.8";
  std::string seed = "1";
  std::string device = "cpu";
  std::string checkpoint{};
};

ScoreOptions score_options(const OodArguments& arguments, const CLI::App& command) {
  const ScoreMethod method = parse_score_method(arguments.bound, "--bound");
  if (method == ScoreMethod::direct) fail_input("--bound direct: is not a bound; expected free, path, ball, order");
  const bool flows = method == ScoreMethod::path || method == ScoreMethod::ball;
  const std::string chosen = "--bound " + arguments.bound;
  require_used(command, "--times", !flows, chosen);
  require_used(command, "--mass", method == ScoreMethod::ball, chosen);
  for (const char* option : {"--draws", "--trace", "--stride", "--probes"})
    require_used(command, option, flows, chosen);
  const TraceOptions trace = trace_options(arguments.trace);
  if (flows) require_trace_options_used(command, trace.kind);
  return {.method = method,
          .error = {},
          .evaluations = flows ? arguments.draws : arguments.times,
          .trace = trace,
          .panels = 1,
          .mass = parse_mass(arguments.mass),
          .seed = parse_seed(arguments.seed)};
}

void ood(const OodArguments& arguments, const CLI::App& command, const std::shared_ptr<Ranks>& ranks) {
  JsonOutput json(arguments.json);
  const fs::path plotly = arguments.out.empty() ? fs::path() : plotly_file();
  std::optional<NewOutputFolder> out;
  if (ranks->is_first() && !arguments.out.empty()) out.emplace("--out", arguments.out);
  const DetectOptions options{.inside = arguments.inside,
                              .outside = arguments.outside,
                              .train = arguments.train,
                              .items = arguments.items,
                              .calibration = arguments.calibration,
                              .score = score_options(arguments, command),
                              .inside_called = "--inside",
                              .outside_called = "--outside",
                              .train_called = "--train"};
  const Session session(load_named(ranks, arguments.run, arguments.device, arguments.checkpoint,
                                   scoring_precision(options.score.method, NetPrecision::automatic)),
                        arguments.run);
  const OutsideReport report =
      with_progress([&](const WorkCallbacks& callbacks) { return session.detect(options, callbacks); });
  if (out) out->write([&](const fs::path& folder) { write_outside_report(folder, report, plotly); });
  if (json) return json.print(report);
  if (!out) return;
  log_notes(report.notes);
  std::cout << aligned(auroc_table(report.results)) << std::flush;
  std::cerr << verdict(report.results) << '\n'
            << report.how_recommended << "\nwrote " << arguments.out << ": report.html, auroc.csv, scores.csv"
            << (report.space.is(PartKind::image) ? ", items.png, oddest.png\n" : "\n");
}

}  // namespace

void add_ood(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("ood", "Detect items that do not belong to the learned distribution");
  auto arguments = std::make_shared<OodArguments>();
  command->add_option("RUN", arguments->run, "directory that 'segre train' wrote")->required();
  command->add_option("--inside", arguments->inside, "SOURCE of items like the training data")->required();
  command->add_option("--outside", arguments->outside, "SOURCE of items of another kind")->required();
  command->add_option("--out", arguments->out,
                      "new folder for report.html, auroc.csv, scores.csv, items.png, oddest.png");
  add_json_option(*command, arguments->json);
  command->add_option("--train", arguments->train, "SOURCE of training items (the run's own, without held-out items)");
  command->add_option("--bound", arguments->bound,
                      "free, path, ball or order: the bound on -log p that is compared, see 'segre likelihood --help'; "
                      "the paper's is ball with --draws 200 --mass 0.8:each");
  command->add_option("--items", arguments->items, "score N evenly spaced items of each source; 0: all (1000)")
      ->check(CLI::Range(int64_t{0}, kMost));
  command->add_option("--calibration", arguments->calibration, "training items to fit the recommended score to (512)")
      ->check(CLI::Range(int64_t{8}, kMost));
  command
      ->add_option("--times", arguments->times,
                   "free, order: network evaluations per item, a multiple of 4; more make scores less noisy (32)")
      ->check(CLI::Range(int64_t{4}, kMost));
  command->add_option("--draws", arguments->draws, "path, ball: states drawn per item (4)")
      ->check(CLI::Range(int64_t{1}, kMost));
  add_mass_option(*command, arguments->mass);
  add_trace_options(*command, arguments->trace);
  command->add_option("--seed", arguments->seed, "seed; a score depends only on it, the item and the training data");
  add_device_option(*command, arguments->device);
  add_checkpoint_option(*command, arguments->checkpoint);
  const auto paragraph = [](const std::string& text) { return wrap(text, kHelpWidth) + "\n\n"; };
  command->footer(
      paragraph(kWhyNotRawLikelihood) + paragraph(kHowRecommended) + paragraph(kHowRecommendedOfTables) +
      paragraph(
          "The table also lists the nats themselves, their ratio to and difference from simple models of the item, "
          "their distance from the mean over training items, and baselines that need no model. The verdict compares "
          "the recommended score with these on the same items; it names a winner only if the interval of the "
          "difference excludes 0 and the difference is at least a tenth of what the other gets wrong.") +
      "Example, after 'segre data fetch NAME --to data' for mnist and omniglot:\n  segre ood models/mnist --inside "
      "'idx:data/t10k-images-idx3-ubyte.gz?pad=2' \\\n"
      "  --outside 'omniglot:data/images_background_small1.zip?pad=2' --out ood");
  command->callback([arguments, command] {
    require_out(arguments->out, arguments->json);
    over_ranks([&](const auto& ranks) { ood(*arguments, *command, ranks); });
  });
}

}  // namespace segre::cli
