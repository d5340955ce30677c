#include "segre/train/train_callbacks.h"

#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "segre/core/log.h"
#include "tests/runs/trained.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"

namespace segre::train_callbacks_test {
namespace {

using test::ScratchFolder;
using test::Threads;
using test::tiny_experiment;

Experiment of_steps(int64_t steps) {
  Experiment e = tiny_experiment();
  e.train.steps = steps;
  return e;
}

// The last line of metrics.jsonl that has a key.
nlohmann::json last_entry(const RunDirectory& run, const char* key) {
  nlohmann::json found;
  std::istringstream in(read_file(run.metrics()));
  for (std::string line; std::getline(in, line);)
    if (auto entry = nlohmann::json::parse(line); entry.contains(key)) found = entry;
  return found;
}

TEST(TrainCallbacks, ProgressIsToldEveryFiftyStepsAndAtTheEnd) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  std::vector<TrainProgress> told;
  TrainRunOptions options;
  options.callbacks.on_progress = [&](const TrainProgress& at) { told.push_back(at); };
  train_run(of_steps(120), run, options);
  std::vector<int64_t> steps;
  for (const auto& at : told)
    if (at.step % 50 == 0 || at.step == 120) steps.push_back(at.step);  // slow machines report more steps, one a second
  EXPECT_EQ(steps, (std::vector<int64_t>{50, 100, 120}));
  const TrainProgress& last = told.back();
  EXPECT_EQ(last.total, 120);
  EXPECT_DOUBLE_EQ(last.loss, last_entry(run, "loss").at("loss")) << "of the last 20 steps";
  EXPECT_GT(last.seconds, 0.0);
  EXPECT_GE(last.items_per_second, 120.0 * 32.0 / last.seconds) << "checkpoints are no training";
}

TEST(TrainCallbacks, ValidationsAreToldWithTheirNumbers) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  Experiment e = tiny_experiment();
  e.watch.every = 5;
  std::vector<ValidationProgress> told;
  TrainRunOptions options;
  options.callbacks.on_validation = [&](const ValidationProgress& at) {
    told.push_back(at);
    EXPECT_EQ(run.best_loss() == at.result.loss, at.is_best) << "its checkpoint is there already";
  };
  train_run(e, run, options);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].step, 5);
  EXPECT_TRUE(told[0].is_best);
  EXPECT_EQ(told[2].step, 12);
  const auto line = last_entry(run, "validation_loss");
  EXPECT_EQ(told[2].result.loss, line.at("validation_loss").get<double>());
  EXPECT_EQ(told[2].result.nats, line.at("validation_nats").get<double>());
}

TEST(TrainCallbacks, StopEndsTheRunWithACheckpointToResumeFrom) {
  const Threads one(1);
  const ScratchFolder folder;
  train_run(tiny_experiment(), RunDirectory(folder / "whole"), {});
  const RunDirectory run(folder / "run");
  TrainRunOptions options;
  int64_t asked = 0;
  options.callbacks.stop = [&] { return ++asked > 7; };
  EXPECT_EQ(train_run(tiny_experiment(), run, options).steps, 7);
  EXPECT_EQ(load_run(run.path(), torch::kCPU).step, 7);
  options = {};
  options.resume = true;
  EXPECT_EQ(train_run(tiny_experiment(), run, options).steps, 12);
  EXPECT_TRUE(read_file(test::tensors_of(run.path())) == read_file(test::tensors_of(folder / "whole")));
}

TEST(TrainCallbacks, AnExceptionLeavesARunThatCanBeResumed) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  TrainRunOptions options;
  options.callbacks.on_validation = [](const ValidationProgress&) { throw std::runtime_error("enough"); };
  EXPECT_EQ(test::any_error([&] { train_run(tiny_experiment(), run, options); }), "enough");
  options = {};
  options.resume = true;
  EXPECT_EQ(train_run(tiny_experiment(), run, options).steps, 12);
}

TEST(TrainCallbacks, ATrainingCanBeSilent) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  Experiment e = tiny_experiment();
  e.holdout = 0.25;
  TrainRunOptions options;
  options.source = make_dataset_source(test::stripes());
  std::filesystem::create_directories(run.picture(12));  // a folder in place of a picture: cause for a message
  std::ostringstream heard;
  testing::internal::CaptureStderr();
  send_log_to(&heard);
  train_run(e, run, options);
  send_log_to(nullptr);
  options.resume = true;
  train_run(e, run, options);
  send_log_to(&std::cerr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(test::contains(heard.str(), "warning: " + run.picture(12).string()));
}

volatile std::sig_atomic_t g_own_signals = 0;

TEST(TrainCallbacks, SignalsAreLeftToTheProgramUnlessAskedFor) {
  const Threads one(1);
  const ScratchFolder folder;
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_handler = [](int) { g_own_signals = g_own_signals + 1; };
  ASSERT_EQ(::sigaction(SIGTERM, &mine, &before), 0);
  TrainRunOptions options;
  int64_t steps = 0;
  options.callbacks.stop = [&] {
    if (++steps == 3) std::raise(SIGTERM);
    return false;
  };
  options.callbacks.signals = true;
  EXPECT_EQ(train_run(tiny_experiment(), RunDirectory(folder / "listening"), options).steps, 3) << "the training's own";
  EXPECT_EQ(g_own_signals, 0);
  steps = 0;
  options.callbacks.signals = TrainCallbacks().signals;
  EXPECT_EQ(train_run(tiny_experiment(), RunDirectory(folder / "deaf"), options).steps, 12);
  EXPECT_EQ(g_own_signals, 1);
  ::sigaction(SIGTERM, &before, nullptr);
}

}  // namespace
}  // namespace segre::train_callbacks_test
