#include "segre/runs/run_directory.h"
#include "segre/runs/load_run.h"
#include "segre/runs/train_run.h"

#include <unistd.h>

#include <cmath>
#include <set>

#include "segre/io/files.h"
#include "tests/runs/trained.h"
#include "tests/support/full_disk.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"

namespace segre::run_directory_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::tiny_experiment;
using test::write_text;

std::set<std::string> checkpoints_in(const fs::path& run) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) names.insert(entry.path().filename().string());
  return names;
}

// A run with checkpoints at these steps, each holding its step number.
RunDirectory run_with(const fs::path& path, const std::vector<int64_t>& steps) {
  RunDirectory run(path);
  run.create();
  for (const int64_t step : steps)
    run.save(step, {{"n", torch::tensor(step, torch::kInt64)}}, test::binary_space(2), {});
  return run;
}

TEST(RunDirectory, KeepsTheLastTwoCheckpoints) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5, 10, 200});
  EXPECT_EQ(checkpoints_in(run.path()), (std::set<std::string>{"step-0000000000010", "step-0000000000200"}));
}

TEST(RunDirectory, KeepsAsManyAsAsked) {
  const ScratchFolder folder;
  RunDirectory run(folder / "run");
  run.create();
  Experiment e;
  e.watch.keep = 1;
  for (const int64_t step : {5, 10, 200}) run.save(step, {}, test::binary_space(2), e);
  EXPECT_EQ(checkpoints_in(run.path()), (std::set<std::string>{"step-0000000000200"}));
}

TEST(RunDirectory, TheBestCheckpointStaysBesideTheLast) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5, 10});
  run.mark_best(5, 0.75);
  run_with(folder / "run", {15, 20, 25});
  EXPECT_EQ(checkpoints_in(run.path()),
            (std::set<std::string>{"best.json", "step-0000000000005", "step-0000000000020", "step-0000000000025"}));
  EXPECT_EQ(run.best()->filename(), "step-0000000000005");
  EXPECT_EQ(run.latest()->filename(), "step-0000000000025");
  // Another becomes the best: the next checkpoint removes the old one.
  run.mark_best(25, 0.5);
  run_with(folder / "run", {30, 35, 40});
  EXPECT_EQ(checkpoints_in(run.path()),
            (std::set<std::string>{"best.json", "step-0000000000025", "step-0000000000035", "step-0000000000040"}));
}

TEST(RunDirectory, KnowsTheBestLoss) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5, 10});
  EXPECT_EQ(run.best(), std::nullopt);
  EXPECT_TRUE(std::isinf(run.best_loss()));
  run.mark_best(5, 0.1);
  EXPECT_EQ(run.best_loss(), 0.1);
  fs::remove_all(*run.best());  // by hand
  EXPECT_EQ(run.best(), std::nullopt);
  EXPECT_TRUE(std::isinf(run.best_loss()));
}

TEST(RunDirectory, ABrokenNoteOfTheBestIsNamed) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5});
  const auto file = run.path() / "checkpoints" / "best.json";
  for (const char* text : {"{", "[]", "{\"step\": \"five\"}"}) {
    write_text(file, text);
    EXPECT_TRUE(contains(input_error([&] { run.best_loss(); }), file.string())) << text;
  }
}

TEST(RunDirectory, CreateClearsWhatACrashLeft) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5});
  const std::vector<fs::path> left{run.path() / ".config.toml.tmp-17",
                                   run.path() / "checkpoints/.step-0000000000009.tmp-1",
                                   run.path() / "samples/.step-0000000000009.png.tmp-3"};
  write_text(left[0], "half");
  fs::create_directory(left[1]);
  write_text(left[1] / "model.safetensors", "half");
  write_text(left[2], "half");
  write_text(run.path() / ".mine", "not ours");
  run.create();
  for (const auto& path : left) EXPECT_FALSE(fs::exists(path)) << path;
  EXPECT_TRUE(fs::exists(run.path() / ".mine"));
  EXPECT_EQ(run.latest()->filename(), "step-0000000000005");
}

// Files whose names only resemble ours belong to the user.
TEST(RunDirectory, NeitherTakesNorRemovesWhatItDidNotWrite) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5});
  const std::vector<std::string> foreign{"checkpoints/step-0000000000001.bak",
                                         "checkpoints/step-final",
                                         "checkpoints/step-9",
                                         "checkpoints/step-00000000000099",
                                         "checkpoints/step-000000000009x",
                                         "checkpoints/.something.tmp-foo",
                                         "checkpoints/.step-0000000000009.tmp-foo",
                                         "checkpoints/.mine.tmp-17",
                                         ".notes.tmp-17",
                                         "samples/.sketch.png.tmp-17"};
  for (const auto& name : foreign) {
    fs::create_directory(run.path() / name);
    write_text(run.path() / name / "model.safetensors", "mine");
  }
  write_text(run.path() / "checkpoints/step-9999999999999", "a file, not a checkpoint");
  run_with(folder / "run", {10, 15, 20});
  EXPECT_EQ(run.latest()->filename(), "step-0000000000020");
  for (const auto& name : foreign) EXPECT_EQ(read_file(run.path() / name / "model.safetensors"), "mine") << name;
  EXPECT_TRUE(fs::exists(run.path() / "checkpoints/step-9999999999999"));
  EXPECT_FALSE(fs::exists(run.path() / "checkpoints/step-0000000000010"));
  run.remove();
  for (const auto& name : foreign) EXPECT_EQ(read_file(run.path() / name / "model.safetensors"), "mine") << name;
  EXPECT_EQ(run.latest(), std::nullopt);
}

TEST(RunDirectory, ACheckpointWithNotesInItStays) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5});
  write_text(*run.latest() / "notes.txt", "the good one");
  run_with(folder / "run", {10, 15, 20});
  EXPECT_EQ(checkpoints_in(run.path()),
            (std::set<std::string>{"step-0000000000005", "step-0000000000015", "step-0000000000020"}));
}

TEST(RunDirectory, AFullDiskKeepsTheOldCheckpointAndLeavesNothingElse) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5});
  Experiment e;
  e.watch.keep = 1;
  const NamedTensors large{{"n", torch::zeros({10'000})}};
  std::string error;
  {
    const test::FullDisk full(10'000);
    error = test::any_error([&] { run.save(10, large, test::binary_space(2), e); });
  }
  EXPECT_TRUE(contains(error, "model.safetensors: writing failed (File too large)"));
  EXPECT_EQ(checkpoints_in(run.path()), std::set<std::string>{"step-0000000000005"});
  run.save(10, large, test::binary_space(2), e);
  EXPECT_EQ(checkpoints_in(run.path()), std::set<std::string>{"step-0000000000010"});
}

TEST(RunDirectory, HasOneWriterAndAnyNumberOfReaders) {
  const ScratchFolder folder;
  const auto path = test::train_into(folder / "run");
  const RunDirectory run(path);
  const auto lock = run.lock();
  const auto expected = concat(path.string(), ": another process is writing it (process ", ::getpid(), " on ");
  EXPECT_TRUE(contains(input_error([&] { run.lock().reset(); }), expected));
  TrainRunOptions resume;
  resume.resume = true;
  EXPECT_TRUE(contains(input_error([&] { train_run(tiny_experiment(), run, resume); }), expected));
  EXPECT_EQ(load_run(path, torch::kCPU).step, 12);
  const RunDirectory fresh(folder / "fresh");
  const auto other = fresh.lock();
  EXPECT_TRUE(contains(input_error([&] { export_run(path, fresh.path(), Checkpoint::last); }), "another process"));
}

TEST(RunDirectory, TheLatestCheckpointIsTheOneOfMostSteps) {
  const ScratchFolder folder;
  EXPECT_EQ(RunDirectory(folder / "none").latest(), std::nullopt);
  const auto run = run_with(folder / "run", {900, 1000});
  EXPECT_EQ(run.latest()->filename(), "step-0000000001000");
  EXPECT_EQ(read_safetensors(*run.latest() / "model.safetensors").at("n").item<int64_t>(), 1000);
}

TEST(RunDirectory, TheLatestCheckpointIsFoundBeyondABillionSteps) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {999'999'998, 999'999'999, 1'000'000'000});
  EXPECT_EQ(read_safetensors(*run.latest() / "model.safetensors").at("n").item<int64_t>(), 1'000'000'000);
}

TEST(RunDirectory, ACheckpointOfTheSameStepIsNotWrittenTwice) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5});
  const auto before = fs::last_write_time(*run.latest() / "model.json");
  run.save(5, {}, test::binary_space(2), {});
  EXPECT_EQ(fs::last_write_time(*run.latest() / "model.json"), before);
  EXPECT_EQ(checkpoints_in(run.path()).size(), 1U);
}

TEST(RunDirectory, HalfACheckpointIsNotSeen) {
  const ScratchFolder folder;
  const auto run = run_with(folder / "run", {5});
  fs::create_directory(run.path() / "checkpoints" / ".step-0000000000009.tmp-1");  // as a killed program leaves it
  EXPECT_EQ(run.latest()->filename(), "step-0000000000005");
}

TEST(RunDirectory, KeepsTheConfig) {
  const ScratchFolder folder;
  const RunDirectory run(folder / "run");
  run.create();
  Experiment e = tiny_experiment();
  run.write_config(e);
  Experiment read;
  schema_of(read).read_file(run.config());
  EXPECT_EQ(schema_of(read).to_toml(false), schema_of(e).to_toml(false));
}

TEST(RunDirectory, AFileInItsPlaceIsNamed) {
  const ScratchFolder folder;
  write_text(folder / "f", "");
  EXPECT_TRUE(contains(test::any_error([&] { RunDirectory(folder / "f").create(); }),
                       (folder / "f").string() + ": cannot be made ("));
}

}  // namespace
}  // namespace segre::run_directory_test
