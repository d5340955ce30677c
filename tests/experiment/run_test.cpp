#include "segre/experiment/run.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "segre/io/files.h"
#include "tests/experiment/tiny.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::Threads;
using test::tiny_experiment;
using test::write_text;

std::set<std::string> checkpoints_in(const fs::path& run) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) names.insert(entry.path().filename().string());
  return names;
}

// A run with checkpoints at these steps that hold the step's number.
RunDirectory run_with(const fs::path& path, const std::vector<int64_t>& steps) {
  RunDirectory run(path);
  run.create();
  for (const int64_t step : steps)
    run.save(step, {{"n", torch::tensor(step, torch::kInt64)}}, test::binary_space(2), {});
  return run;
}

// A trained run in `folder`.
fs::path trained(const ScratchFolder& folder) {
  const Threads one(1);
  const fs::path path = folder / "run";
  train_run(tiny_experiment(), RunDirectory(path), {});
  return path;
}

void edit_description(const fs::path& run, const std::function<void(nlohmann::json&)>& edit) {
  const auto file = *RunDirectory(run).latest() / "model.json";
  auto json = nlohmann::json::parse(read_file(file));
  edit(json);
  write_text(file, json.dump());
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
  // Another becomes the best: the old one goes with the next checkpoint.
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

TEST(LoadRun, HasTheAveragedWeightsAndTheSpace) {
  const ScratchFolder folder;
  const auto path = trained(folder);
  const auto run = load_run(path, torch::kCPU);
  EXPECT_EQ(run.step, 12);
  EXPECT_EQ(run.model.space().variable_name(1), "y2");
  const auto state = read_safetensors(*RunDirectory(path).latest() / "model.safetensors");
  for (const auto& [name, weight] : run.model.field().parameters())
    EXPECT_TRUE(torch::equal(weight, state.at("ema." + name))) << name;
}

TEST(LoadRun, GivesTheBestCheckpointOnRequest) {
  const ScratchFolder folder;
  const Threads one(1);
  Experiment e = tiny_experiment();
  e.watch.every = 4;
  const RunDirectory run(folder / "run");
  train_run(e, run, {});
  const auto best = load_run(run.path(), torch::kCPU, Checkpoint::best);
  EXPECT_EQ(run.best()->filename(), concat("step-00000000000", best.step < 10 ? "0" : "", best.step));
  EXPECT_EQ(best.step % 4, 0);
  run.mark_best(12, 0.1);
  EXPECT_EQ(load_run(run.path(), torch::kCPU, Checkpoint::best).step, 12);
  EXPECT_EQ(load_run(run.path(), torch::kCPU).step, 12);
}

TEST(LoadRun, ARunThatWasNeverValidatedHasNoBest) {
  const ScratchFolder folder;
  const auto path = trained(folder);
  fs::remove(path / "checkpoints" / "best.json");
  EXPECT_EQ(input_error([&] { load_run(path, torch::kCPU, Checkpoint::best); }),
            path.string() + ": has no checkpoint marked as the best, since it was not validated; use the last");
}

TEST(LoadRun, ADirectoryThatIsNoRunIsRefused) {
  const ScratchFolder folder;
  for (const fs::path& path : {folder.path(), folder / "none"})
    EXPECT_EQ(input_error([&] { load_run(path, torch::kCPU); }),
              concat(path.string(), ": is not a trained run (no checkpoint in it); 'segre train --out ", path.string(),
                     "' makes one"));
}

TEST(LoadRun, ACorruptDescriptionIsNamed) {
  const ScratchFolder folder;
  const auto path = trained(folder);
  const auto file = *RunDirectory(path).latest() / "model.json";
  write_text(file, "{ \"format\": 1,");
  EXPECT_TRUE(input_error([&] { load_run(path, torch::kCPU); }).starts_with(file.string() + ": not valid JSON ("));
}

TEST(LoadRun, AnotherFormatIsRefused) {
  const ScratchFolder folder;
  const auto path = trained(folder);
  const auto file = (*RunDirectory(path).latest() / "model.json").string();
  edit_description(path, [](auto& json) { json["format"] = 2; });
  EXPECT_EQ(input_error([&] { load_run(path, torch::kCPU); }), file + ": format 2, this segre reads format 1");
  edit_description(path, [](auto& json) { json.erase("format"); });
  EXPECT_TRUE(input_error([&] { load_run(path, torch::kCPU); }).starts_with(file + ": does not describe a model ("));
}

TEST(LoadRun, AnIncompleteDescriptionIsNamed) {
  const ScratchFolder folder;
  const auto path = trained(folder);
  const auto file = (*RunDirectory(path).latest() / "model.json").string();
  edit_description(path, [](auto& json) { json.erase("space"); });
  EXPECT_TRUE(contains(input_error([&] { load_run(path, torch::kCPU); }), file));
  write_text(file, "[]");
  EXPECT_TRUE(contains(input_error([&] { load_run(path, torch::kCPU); }), file));
}

TEST(LoadRun, WeightsOfAnotherNetworkAreRefused) {
  const ScratchFolder folder;
  const auto path = trained(folder);
  Experiment e = tiny_experiment();
  e.net.hidden = {9};
  RunDirectory(path).write_config(e);
  EXPECT_TRUE(contains(input_error([&] { load_run(path, torch::kCPU); }), "the checkpoint's tensor ema."));
}

TEST(LoadRun, ATruncatedCheckpointIsNamed) {
  const ScratchFolder folder;
  const auto path = trained(folder);
  const auto file = *RunDirectory(path).latest() / "model.safetensors";
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_TRUE(contains(input_error([&] { load_run(path, torch::kCPU); }), file.string() + ": tensor "));
}

TEST(ParseDevice, KnowsTheProcessorAndNothingElse) {
  EXPECT_TRUE(parse_device("cpu").is_cpu());
  for (const char* name : {"tpu", "", "CPU", "cpu:0", "cudax"})
    EXPECT_EQ(input_error([&] { parse_device(name); }), concat("--device ", name, ": expected cpu, cuda or cuda:N"));
}

#ifndef SEGRE_CUDA
TEST(ParseDevice, ABuildWithoutCudaSaysHowToGetOne) {
  for (const char* name : {"cuda", "cuda:1"})
    EXPECT_EQ(input_error([&] { parse_device(name); }),
              concat("--device ", name, ": this build has no CUDA; 'make build CUDA=1' makes one that has"));
}
#endif

}  // namespace
}  // namespace segre
