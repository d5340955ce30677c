// Runs of a network that is counted, not trained.

#include "tests/runs/trained.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"

namespace segre::tree_run_test {
namespace {

namespace fs = std::filesystem;
using test::named;
using test::ScratchFolder;
using test::Threads;

const std::vector<int64_t> kChain{-1, 0, 1, 2, 3};

Experiment tree_experiment() {
  Experiment e = test::tiny_experiment();
  e.net.kind = "tree";
  e.holdout = 0.25;
  e.watch.evaluations = 2048;
  return e;
}

TrainRunOptions learning_a_chain() {
  TrainRunOptions options;
  options.source = make_dataset_source(test::chain_rows(5, 400));
  return options;
}

std::vector<int64_t> parents_of(const fs::path& run) {
  const auto loaded = load_run(run, torch::kCPU);
  return test::labels_of(named(loaded.model.field().buffers(), "parents"));
}

TEST(TreeRun, IsCountedBeforeTheFirstStep) {
  const Threads one(1);
  const ScratchFolder folder;
  const auto result = train_run(tree_experiment(), RunDirectory(folder / "run"), learning_a_chain());
  EXPECT_EQ(parents_of(folder / "run"), kChain);
  ASSERT_FALSE(result.validations.empty());
  // 1.1 + 4 * 0.49 = 3.0 nats, and 5 log 3 = 5.5 for independent columns; a hundred rows say 0.3 more or less.
  EXPECT_LT(result.validations.back().result.nats, result.independent_nats - 1.0);
}

TEST(TreeRun, DrawsSamplesOfItsChain) {
  const Threads one(1);
  const ScratchFolder folder;
  const auto run = load_run(test::train_into(folder / "run", tree_experiment(), learning_a_chain()), torch::kCPU);
  constexpr int64_t kSamples = 2000;
  const auto labels = Sampler(run.model, run.experiment.sample, 1).draw(0, kSamples).labels;
  const auto same = (labels.slice(1, 0, 4) == labels.slice(1, 1, 5)).to(torch::kFloat64).mean();
  // 0.867 for the chain, counted from 1200 pairs of neighbours: a spread of 0.01; samples have half of that.
  EXPECT_NEAR(same.item<double>(), 0.867, 0.06);
}

TEST(TreeRun, ResumesWithTheCountsOfItsCheckpoint) {
  const Threads one(1);
  const ScratchFolder folder;
  const auto run = test::train_into(folder / "run", tree_experiment(), learning_a_chain());
  const auto before = read_safetensors(test::tensors_of(run));
  Experiment longer = tree_experiment();
  longer.train.steps += 3;
  auto options = learning_a_chain();
  options.resume = true;
  EXPECT_EQ(train_run(longer, RunDirectory(run), options).steps, longer.train.steps);
  const auto after = read_safetensors(test::tensors_of(run));
  for (const char* name : {"buffers.parents", "buffers.marginals", "buffers.tables"})
    EXPECT_TRUE(torch::equal(after.at(name), before.at(name))) << name;
}

TEST(TreeRun, ATimeLimitAddsNoSteps) {
  const Threads one(1);
  const ScratchFolder folder;
  auto options = learning_a_chain();
  options.max_seconds = 600.0;
  const auto result = train_run(tree_experiment(), RunDirectory(folder / "run"), options);
  EXPECT_EQ(result.steps, tree_experiment().train.steps);
  EXPECT_TRUE(result.finished);
}

TEST(TreeRun, ATimeLimitIsKept) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment endless = tree_experiment();
  endless.train.steps = 1'000'000'000;
  endless.watch.evaluations = 64;
  auto options = learning_a_chain();
  options.max_seconds = 2.0;
  const auto result = train_run(endless, RunDirectory(folder / "run"), options);
  EXPECT_LT(result.steps, endless.train.steps);
  EXPECT_TRUE(result.finished);
}

TEST(TreeRun, CanBeExported) {
  const ScratchFolder folder;
  const auto run = test::train_into(folder / "run", tree_experiment(), learning_a_chain());
  export_run(run, folder / "exported", Checkpoint::last);
  EXPECT_EQ(parents_of(folder / "exported"), kChain);
}

TEST(TreeRun, ParentsThatFormNoTreeAreRefused) {
  const ScratchFolder folder;
  const auto run = test::train_into(folder / "run", tree_experiment(), learning_a_chain());
  test::edit_tensors(run, [](NamedTensors& tensors) { tensors.at("buffers.parents")[0] = 1; });
  EXPECT_TRUE(test::contains(test::input_error([&] { load_run(run, torch::kCPU); }), "a tree's parents form a circle"));
}

}  // namespace
}  // namespace segre::tree_run_test
