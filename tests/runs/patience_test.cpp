// watch.patience: a training ends if validation finds nothing better for a while.

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/runs/trained.h"

namespace segre::patience_test {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using test::Threads;

// A tree does not change, so no validation after the first finds anything better.
Experiment without_progress(int64_t patience = 3) {
  Experiment e = test::tiny_experiment();
  e.net.kind = "tree";
  e.train.steps = 20;
  e.watch.every = 2;
  e.watch.patience = patience;
  return e;
}

TrainRunOptions resuming() {
  TrainRunOptions options;
  options.resume = true;
  return options;
}

// Stops after this many steps.
TrainRunOptions stopping_after(int64_t steps) {
  TrainRunOptions options;
  options.callbacks.stop = [steps, asked = int64_t{0}]() mutable { return ++asked > steps; };
  return options;
}

std::string final_state(const fs::path& run) { return read_file(test::tensors_of(run)); }

// {step, validations since the best} of every validation.
std::vector<std::vector<int64_t>> validations_of(const fs::path& run) {
  std::vector<std::vector<int64_t>> out;
  std::istringstream in(read_file(RunDirectory(run).metrics()));
  for (std::string line; std::getline(in, line);)
    if (const auto entry = nlohmann::json::parse(line); entry.contains("validation_loss"))
      out.push_back({entry.at("step").get<int64_t>(), entry.value("validations_since_best", int64_t{-1})});
  return out;
}

int64_t configured_steps(const fs::path& run) {
  Experiment e;
  schema_of(e).read_file(RunDirectory(run).config());
  return e.train.steps;
}

TEST(Patience, EndsATrainingThatFindsNothingBetter) {
  const Threads one(1);
  const ScratchFolder folder;
  const auto result = train_run(without_progress(), RunDirectory(folder / "run"), {});
  EXPECT_EQ(result.steps, 8);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(validations_of(folder / "run"), (std::vector<std::vector<int64_t>>{{2, 0}, {4, 1}, {6, 2}, {8, 3}}));
  EXPECT_EQ(configured_steps(folder / "run"), 8);
  EXPECT_EQ(load_run(folder / "run", torch::kCPU, Checkpoint::last).step, 8);
  EXPECT_EQ(load_run(folder / "run", torch::kCPU, Checkpoint::best).step, 2);
}

TEST(Patience, WithoutItAllStepsAreTaken) {
  const Threads one(1);
  const ScratchFolder folder;
  EXPECT_EQ(train_run(without_progress(/*patience=*/0), RunDirectory(folder / "run"), {}).steps, 20);
  EXPECT_EQ(validations_of(folder / "run").front(), (std::vector<int64_t>{2, -1})) << "nothing to log";
}

TEST(Patience, IsNotLostWhenARunIsResumed) {
  const Threads one(1);
  const ScratchFolder folder;
  train_run(without_progress(), RunDirectory(folder / "whole"), {});
  for (const int64_t stopped_at : {1, 5, 6, 7}) {
    const RunDirectory part(folder / concat("stopped-", stopped_at));
    ASSERT_EQ(train_run(without_progress(), part, stopping_after(stopped_at)).steps, stopped_at);
    EXPECT_EQ(train_run(without_progress(), part, resuming()).steps, 8) << stopped_at;
    EXPECT_EQ(validations_of(part.path()), validations_of(folder / "whole")) << stopped_at;
    EXPECT_TRUE(final_state(part.path()) == final_state(folder / "whole")) << stopped_at;
  }
}

TEST(Patience, ARunThatItEndedStaysEnded) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  train_run(without_progress(), run, {});
  const auto before = final_state(run.path());
  const auto metrics = read_file(run.metrics());
  Experiment same = without_progress();
  same.train.steps = configured_steps(run.path());
  const auto result = train_run(same, run, resuming());
  EXPECT_EQ(result.steps, 8);
  EXPECT_EQ(result.new_steps, 0);
  EXPECT_TRUE(final_state(run.path()) == before);
  EXPECT_EQ(read_file(run.metrics()), metrics);
}

TEST(Patience, IsRenewedIfAFinishedRunIsToGoOn) {
  const Threads one(1);
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  train_run(without_progress(), run, {});
  EXPECT_EQ(train_run(without_progress(), run, resuming()).steps, 14) << "three more validations";
}

}  // namespace
}  // namespace segre::patience_test
