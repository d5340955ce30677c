#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>

#include "segre/eval/total_variation.h"
#include "segre/io/files.h"
#include "segre/net/mlp.h"
#include "segre/runs/load_run.h"
#include "segre/runs/run_directory.h"
#include "segre/runs/train_run.h"
#include "segre/sources/source_kinds.h"
#include "segre/train/validation.h"
#include "tests/runs/tiny.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::train_run_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::Threads;
using test::tiny_experiment;

// The bytes of a run's newest weights, averages and optimiser.
std::string final_state(const fs::path& run) { return read_file(*RunDirectory(run).latest() / "model.safetensors"); }

TrainRunOptions resuming() {
  TrainRunOptions options;
  options.resume = true;
  return options;
}

TrainRunOptions within_seconds(double seconds) {
  TrainRunOptions options;
  options.max_seconds = seconds;
  return options;
}

TrainRunOptions typed(const std::string& command) {
  TrainRunOptions options;
  options.command = command;
  return options;
}

// The entries of metrics.jsonl that have a key.
std::vector<nlohmann::json> entries(const RunDirectory& run, const char* key) {
  std::vector<nlohmann::json> found;
  std::istringstream in(read_file(run.metrics()));
  for (std::string line; std::getline(in, line);)
    if (auto entry = nlohmann::json::parse(line); entry.contains(key)) found.push_back(entry);
  return found;
}

std::vector<int> steps_of(const std::vector<nlohmann::json>& list) {
  std::vector<int> steps;
  for (const auto& entry : list) steps.push_back(entry.at("step"));
  return steps;
}

// What a run stopped after `steps` leaves behind: its checkpoint and config.
void make_interrupted_run(const Experiment& e, const fs::path& path, int steps) {
  const auto source = open_source(e.data);
  Trainer trainer(make_model(e, source->space(), torch::kCPU), *source, e.train, static_cast<uint64_t>(e.seed));
  double sum = 0.0;
  for (int k = 0; k < steps; ++k) sum += trainer.step();
  const RunDirectory run(path);
  run.create();
  run.write_config(e);
  auto state = trainer.state();
  // The losses that no line of metrics contains yet.
  state["metrics.window"] = torch::tensor({sum, static_cast<double>(steps)}, torch::kFloat64);
  run.save(steps, state, source->space(), e);
}

TEST(TrainRun, LeavesEverythingARunIsMadeOf) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  EXPECT_EQ(train_run(tiny_experiment(), run, typed("segre train")).steps, 12);
  EXPECT_EQ(run.latest()->filename(), "step-0000000000012");
  const auto info = nlohmann::json::parse(read_file(run.path() / "run.json"));
  EXPECT_EQ(info.at("command"), "segre train");
  EXPECT_EQ(info.at("seed"), 1);
  const auto losses = entries(run, "loss");
  ASSERT_EQ(steps_of(losses), std::vector<int>{12});  // 12 steps: one line, the last step's
  EXPECT_GT(losses[0].at("loss"), 0.0);
  const auto validations = entries(run, "validation_loss");
  ASSERT_EQ(steps_of(validations), std::vector<int>{12});
  EXPECT_EQ(run.best(), run.latest());
  EXPECT_EQ(run.best_loss(), validations[0].at("validation_loss"));
}

TEST(TrainRun, LogsEveryFiftySteps) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.train.steps = 120;
  const RunDirectory run(folder / "run");
  train_run(e, run, {});
  EXPECT_EQ(steps_of(entries(run, "loss")), (std::vector<int>{50, 100, 120}));
}

TEST(TrainRun, TheLoggedRateIsThatOfTheStepJustTaken) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.train.schedule = {.lr = 0.01, .warmup = 100, .kind = ScheduleKind::cosine};
  e.train.steps = 120;
  const RunDirectory run(folder / "run");
  train_run(e, run, {});
  const auto lines = entries(run, "lr");
  ASSERT_EQ(steps_of(lines), (std::vector<int>{50, 100, 120}));
  EXPECT_NEAR(lines[0].at("lr"), 0.01 * 50 / 100, 1e-12) << "in the middle of the rise";
  EXPECT_NEAR(lines[1].at("lr"), 0.01, 1e-12);
  EXPECT_NEAR(lines[2].at("lr"), 0.005 * (1.0 + std::cos(std::numbers::pi * 19.0 / 20.0)), 1e-12)
      << "before the fall is over";
}

TEST(TrainRun, ValidatesAsOftenAsAskedAndAtTheEnd) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.watch.every = 5;
  const RunDirectory run(folder / "run");
  train_run(e, run, {});
  const auto found = entries(run, "validation_loss");
  EXPECT_EQ(steps_of(found), (std::vector<int>{5, 10, 12}));
  double lowest = found[0].at("validation_loss");
  for (const auto& entry : found) lowest = std::min(lowest, entry.at("validation_loss").get<double>());
  EXPECT_EQ(run.best_loss(), lowest);
}

// Validation gives the same result for a checkpoint and for the model loaded from it, including the statistics of batch
// normalisation.
TEST(TrainRun, ValidatesTheModelThatWillBeLoaded) {
  const Threads one(1);
  for (const bool batch_norm : {false, true}) {
    const ScratchFolder folder;
    Experiment e = tiny_experiment();
    e.net.of<MlpOptions>().batch_norm = batch_norm;
    e.train.steps = 60;
    const RunDirectory run(folder / "run");
    train_run(e, run, {});
    const auto loaded = load_run(run.path(), torch::kCPU);
    NamedTensors weights;
    for (const auto& [name, weight] : loaded.model.field().parameters()) weights[name] = weight.detach().clone();
    const double t1 = decision_time(loaded.model.space(), loaded.model.path());
    Validation validation(loaded.model, open_source(e.data)->rows(0, e.watch.items), e.train.objective, t1,
                          loaded.experiment.watch.evaluations);
    const auto found = entries(run, "validation_loss").back();
    EXPECT_EQ(found.at("step"), 60);
    EXPECT_EQ(found.at("validation_loss").get<double>(), validation(weights).loss) << "batch norm " << batch_norm;
  }
}

TEST(TrainRun, ImagesAreDrawnOnTheWayAndAtTheEnd) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.watch.every = 2;
  e.watch.tensorboard = true;
  e.holdout = 0.25;
  TrainRunOptions options;
  options.source = make_dataset_source(test::stripes());
  const RunDirectory run(folder / "run");
  train_run(e, run, options);
  for (const int64_t step : {8, 12}) EXPECT_TRUE(fs::exists(run.picture(step))) << step;  // every fourth validation
  EXPECT_FALSE(fs::exists(run.picture(4)));
  EXPECT_TRUE(fs::exists(run.path() / "tensorboard"));
  EXPECT_EQ(load_run(run.path(), torch::kCPU).model.space().item_shape(), (std::vector<int64_t>{8, 8}));
}

TEST(TrainRun, EpochsBecomeSteps) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.train.epochs = 3;
  TrainRunOptions options;
  options.source = make_dataset_source(test::stripes());  // 64 items: a twentieth of them is too few to hold out
  const RunDirectory run(folder / "run");
  EXPECT_EQ(train_run(e, run, options).steps, 6);
  EXPECT_TRUE(entries(run, "validation_loss").empty());
  Experiment resolved;
  schema_of(resolved).read_file(run.config());
  EXPECT_EQ(resolved.train.steps, 6);
  EXPECT_EQ(resolved.train.epochs, 0);
}

TEST(TrainRun, RefusesAFolderThatHoldsARun) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  train_run(tiny_experiment(), run, {});
  const auto before = final_state(run.path());
  EXPECT_EQ(input_error([&] { train_run(tiny_experiment(), run, {}); }),
            run.path().string() + ": already contains a run; resume it, or choose another directory");
  EXPECT_TRUE(final_state(run.path()) == before);
}

TEST(TrainRun, HasNothingToResumeInAnEmptyFolder) {
  const ScratchFolder folder;
  EXPECT_EQ(input_error([&] { train_run(tiny_experiment(), RunDirectory(folder / "run"), resuming()); }),
            (folder / "run").string() + ": has no checkpoint to resume from");
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(TrainRun, ResumesAnInterruptedRunToTheSameBits) {
  const Threads one(1);
  const ScratchFolder folder;
  const Experiment e = tiny_experiment();
  train_run(e, RunDirectory(folder / "whole"), {});
  for (const int stopped_at : {1, 5, 11}) {
    const auto path = folder / concat("stopped-", stopped_at);
    make_interrupted_run(e, path, stopped_at);
    EXPECT_EQ(train_run(e, RunDirectory(path), resuming()).steps, 12);
    EXPECT_TRUE(final_state(path) == final_state(folder / "whole")) << stopped_at;  // bytes are useless in a message
  }
}

TEST(TrainRun, ResumingAFinishedRunChangesNothing) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  train_run(tiny_experiment(), run, {});
  const auto before = final_state(run.path());
  const auto metrics = read_file(run.metrics());
  EXPECT_EQ(train_run(tiny_experiment(), run, resuming()).steps, 12);
  EXPECT_TRUE(final_state(run.path()) == before);
  EXPECT_EQ(read_file(run.metrics()), metrics);
}

// Killed after the last checkpoint was saved, before it was marked and before the last line was logged.
TEST(TrainRun, ResumingMakesUpForWhatAKillAfterTheLastCheckpointLost) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  train_run(tiny_experiment(), run, {});
  const double best = run.best_loss();
  const auto validation = entries(run, "validation_loss");
  fs::remove(run.path() / "checkpoints" / "best.json");
  test::write_text(run.metrics(), validation.at(0).dump() + "\n");
  train_run(tiny_experiment(), run, resuming());
  EXPECT_EQ(run.best(), run.latest());
  EXPECT_EQ(run.best_loss(), best);
  EXPECT_EQ(steps_of(entries(run, "loss")), std::vector<int>{12});
}

TEST(TrainRun, APictureThatDoesNotFitStopsNothing) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.holdout = 0.25;
  TrainRunOptions options;
  options.source = make_dataset_source(test::stripes());
  const RunDirectory run(folder / "run");
  fs::create_directories(run.picture(12));  // a folder in place of the picture
  testing::internal::CaptureStderr();
  EXPECT_EQ(train_run(e, run, options).steps, 12);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(),
                       "warning: " + run.picture(12).string() + ": is a directory, a file was expected; training"));
}

TEST(TrainRun, FitsIntoTheTimeGivenAndKeepsTheStepsItCameTo) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.train.steps = 1'000'000'000;
  const RunDirectory run(folder / "run");
  const int64_t steps = train_run(e, run, within_seconds(1.5)).steps;
  EXPECT_LT(steps, e.train.steps);
  Experiment resolved;
  schema_of(resolved).read_file(run.config());
  EXPECT_EQ(resolved.train.steps, steps);
  EXPECT_EQ(load_run(run.path(), torch::kCPU).step, steps);
}

TEST(TrainRun, LeavesNoFolderWhereTheInputIsWrong) {
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.data = "nonsense";
  EXPECT_TRUE(contains(input_error([&] { train_run(e, RunDirectory(folder / "run"), {}); }), "data source 'nonsense'"));
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(TrainRun, OurRecipeLearnsTheCoupledPair_Slow) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e;
  e.data = "coupled";
  e.train.steps = 3000;
  const RunDirectory directory(folder / "run");
  train_run(e, directory, {});
  const auto run = load_run(directory.path(), torch::kCPU);
  const Sampler sampler(run.model, run.experiment.sample, 1);
  const auto source = open_source(e.data);
  LabelingCounts counts(source->space());
  constexpr int64_t kSamples = 1'000'000;
  constexpr int64_t kAtOnce = 1 << 16;
  for (int64_t done = 0; done < kSamples; done += kAtOnce)
    counts.add(sampler.draw(static_cast<uint64_t>(done), std::min(kAtOnce, kSamples - done)).labels);
  // Exact samples would show 0.0006 on average; the paper's own recipe reaches 0.088.
  EXPECT_LE(total_variation(*source->joint(), counts), 0.003);
}

}  // namespace
}  // namespace segre::train_run_test
