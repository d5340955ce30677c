#include <cmath>
#include <limits>
#include <sstream>

#include "segre/net/mlp.h"
#include "segre/path/e_geodesic.h"
#include "segre/runs/load_run.h"
#include "segre/runs/run_directory.h"
#include "tests/runs/trained.h"
#include "tests/support/messages.h"

namespace segre::load_run_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::description_of;
using test::edit_config;
using test::edit_description;
using test::edit_tensors;
using test::input_error;
using test::ScratchFolder;
using test::tensors_of;
using test::Threads;
using test::tiny_experiment;
using test::train_into;
using test::write_text;

std::string load_error(const fs::path& run) {
  return input_error([&] { load_run(run, torch::kCPU); });
}

torch::Tensor drawn(const fs::path& run) {
  const Threads one(1);
  const auto loaded = load_run(run, torch::kCPU);
  return Sampler(loaded.model, loaded.experiment.sample, static_cast<uint64_t>(loaded.experiment.seed))
      .draw(0, 200)
      .labels;
}

std::string config_of(const LoadedRun& run) {
  Experiment e = run.experiment;
  return schema_of(e).to_toml(/*with_help=*/false);
}

TEST(LoadRun, HasTheAveragedWeightsAndTheSpace) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto run = load_run(path, torch::kCPU);
  EXPECT_EQ(run.step, 12);
  EXPECT_EQ(run.model.space().variable_name(1), "y2");
  const auto state = read_safetensors(tensors_of(path));
  for (const auto& [name, weight] : run.model.field().parameters())
    EXPECT_TRUE(torch::equal(weight, state.at("ema." + name))) << name;
}

TEST(LoadRun, TakesNothingFromAConfigThatWasRewrittenSince) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto before = load_run(path, torch::kCPU);
  const auto samples = drawn(path);
  Experiment other = tiny_experiment();
  other.seed = 9;
  other.path.of<EGeodesicOptions>().eps = 0.4;
  other.form = Form::endpoint;
  other.net.of<MlpOptions>().input_gain = 3.0;
  other.net.of<MlpOptions>().hidden = {9};
  other.train.time_law = TimeLawKind::uniform;
  other.train.adam.ema = 0.0;
  other.sample.steps = 1;
  RunDirectory(path).write_config(other);
  const auto after = load_run(path, torch::kCPU);
  EXPECT_EQ(after.experiment.path.of<EGeodesicOptions>().eps, 0.01);
  EXPECT_EQ(after.model.form(), Form::evidence);
  EXPECT_EQ(config_of(after), config_of(before));
  EXPECT_TRUE(torch::equal(drawn(path), samples));
}

TEST(LoadRun, NeedsNoConfigBesideTheCheckpoint) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto samples = drawn(path);
  write_text(path / "config.toml", "[path\neps = nonsense");
  EXPECT_TRUE(torch::equal(drawn(path), samples));
  fs::remove(path / "config.toml");
  EXPECT_TRUE(torch::equal(drawn(path), samples));
}

TEST(LoadRun, LabelNamesComeFromTheCheckpoint) {
  const ScratchFolder folder;
  const fs::path table = folder / "j.csv";
  write_text(table, "sky,p\nrain,0.25\nsun,0.75\n");
  Experiment e = tiny_experiment();
  e.data = "joint:" + table.string();
  const auto path = train_into(folder / "run", e);
  write_text(table, "sky,p\nday,0.25\nnight,0.75\n");
  const auto run = load_run(path, torch::kCPU);
  EXPECT_EQ(run.model.space().label_name(0, 1), "sun");
}

TEST(LoadRun, SaysWhatItLearnedFrom) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  ASSERT_TRUE(load_run(path, torch::kCPU).data);
  edit_description(path, [](auto& json) { json.erase("data"); });  // as before release 0.1.0
  EXPECT_FALSE(load_run(path, torch::kCPU).data);
}

// A checkpoint from before the keys of evidence: it was trained without any.
TEST(LoadRun, ACheckpointWithoutTheNewerKeysWasTrainedWithoutEvidence) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  edit_description(path, [](auto& json) {
    std::string older;
    std::istringstream config(json["config"].template get<std::string>());
    for (std::string line; std::getline(config, line);)
      if (!line.starts_with("evidence") && !line.starts_with("order")) older += line + "\n";
    json["config"] = older;
    json.erase("data");
  });
  const auto run = load_run(path, torch::kCPU);
  EXPECT_EQ(run.experiment.train.evidence.kind, EvidenceKind::uniform);
  EXPECT_EQ(run.experiment.sample.order, FillOrder::random);
}

TEST(LoadRun, TheShippedModelIsReadFromItsCheckpoint) {
  const fs::path path = fs::path(SEGRE_SOURCE_DIR) / "models" / "mnist";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto run = load_run(path, torch::kCPU);
  EXPECT_EQ(run.step, 47350);
  Experiment beside;
  schema_of(beside).read_file(path / "config.toml");
  EXPECT_EQ(config_of(run), schema_of(beside).to_toml(/*with_help=*/false)) << "the copy for people is true";
  EXPECT_EQ(run.experiment.sample.sampler, "ab2");
  EXPECT_EQ(run.experiment.train.evidence.kind, EvidenceKind::any);
}

TEST(LoadRun, GivesTheBestCheckpointOnRequest) {
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.watch.every = 4;
  const RunDirectory run(train_into(folder / "run", e));
  const auto best = load_run(run.path(), torch::kCPU, Checkpoint::best);
  EXPECT_EQ(run.best()->filename(), concat("step-00000000000", best.step < 10 ? "0" : "", best.step));
  EXPECT_EQ(best.step % 4, 0);
  run.mark_best(12, 0.1);
  EXPECT_EQ(load_run(run.path(), torch::kCPU, Checkpoint::best).step, 12);
  EXPECT_EQ(load_run(run.path(), torch::kCPU).step, 12);
}

// A run with a checkpoint of every step, of which step 8 is marked as the best.
fs::path run_with_best(const fs::path& path, bool use_best) {
  Experiment e = tiny_experiment();
  e.watch.save_seconds = 0.0;
  e.watch.keep = 100;
  e.watch.use_best = use_best;
  train_into(path, e);
  RunDirectory(path).mark_best(8, 0.1);
  return path;
}

TEST(LoadRun, UsesTheBestCheckpointIfTheRunSaysSo) {
  const ScratchFolder folder;
  for (const bool use_best : {false, true}) {
    const auto run = run_with_best(folder / (use_best ? "best" : "last"), use_best);
    EXPECT_EQ(load_run(run, torch::kCPU).step, use_best ? 8 : 12);
    EXPECT_EQ(load_run(run, torch::kCPU, Checkpoint::chosen).step, use_best ? 8 : 12);
    EXPECT_EQ(load_run(run, torch::kCPU, Checkpoint::last).step, 12);
    EXPECT_EQ(load_run(run, torch::kCPU, Checkpoint::best).step, 8);
  }
}

TEST(LoadRun, UsesTheLastCheckpointIfNoneIsTheBest) {
  const ScratchFolder folder;
  const auto run = run_with_best(folder / "run", /*use_best=*/true);
  RunDirectory(run).mark_best(99, 0.1);  // never saved
  EXPECT_EQ(load_run(run, torch::kCPU).step, 12);
  fs::remove(RunDirectory(run).best_file());
  EXPECT_EQ(load_run(run, torch::kCPU).step, 12);
}

TEST(LoadRun, ExportsTheCheckpointThatIsUsed) {
  const ScratchFolder folder;
  const auto run = run_with_best(folder / "run", /*use_best=*/true);
  export_run(run, folder / "exported", Checkpoint::chosen);
  EXPECT_EQ(load_run(folder / "exported", torch::kCPU).step, 8);
}

TEST(LoadRun, ARunThatWasNeverValidatedHasNoBest) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  fs::remove(path / "checkpoints" / "best.json");
  EXPECT_EQ(input_error([&] { load_run(path, torch::kCPU, Checkpoint::best); }),
            path.string() + ": has no checkpoint marked as the best, since it was not validated; use the last");
}

TEST(LoadRun, ABestCheckpointThatIsGoneIsSaidSo) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  RunDirectory(path).mark_best(7, 0.1);  // never saved
  EXPECT_EQ(input_error([&] { load_run(path, torch::kCPU, Checkpoint::best); }),
            (path / "checkpoints" / "best.json").string() +
                ": the checkpoint marked as the best does not exist; use the last");
  EXPECT_EQ(load_run(path, torch::kCPU).step, 12);
}

TEST(LoadRun, ADirectoryThatIsNoRunIsRefused) {
  const ScratchFolder folder;
  for (const fs::path& path : {folder.path(), folder / "none"})
    EXPECT_EQ(load_error(path),
              concat(path.string(), ": is not a trained run (no checkpoint found); 'segre train --out ", path.string(),
                     "' makes one"));
}

TEST(LoadRun, ACorruptDescriptionIsNamed) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  write_text(description_of(path), "{ \"format\": 1,");
  EXPECT_TRUE(load_error(path).starts_with(description_of(path).string() + ": not valid JSON ("));
}

TEST(LoadRun, AnotherFormatIsRefused) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto file = description_of(path).string();
  edit_description(path, [](auto& json) { json["format"] = 2; });
  EXPECT_EQ(load_error(path), file + ": format 2, this segre reads format 1");
  edit_description(path, [](auto& json) { json.erase("format"); });
  EXPECT_TRUE(load_error(path).starts_with(file + ": does not describe a model ("));
}

TEST(LoadRun, AnIncompleteDescriptionIsNamed) {
  const ScratchFolder folder;
  for (const char* key : {"step", "config", "space"}) {
    const auto path = train_into(folder / key);
    edit_description(path, [&](auto& json) { json.erase(key); });
    EXPECT_TRUE(load_error(path).starts_with(description_of(path).string() + ": does not describe a model (")) << key;
  }
  const auto path = train_into(folder / "run");
  write_text(description_of(path), "[]");
  EXPECT_TRUE(contains(load_error(path), description_of(path).string()));
}

TEST(LoadRun, ValuesOfTheWrongTypeAreNamed) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto whole = read_file(description_of(path));
  const std::pair<const char*, const char*> wrong[] = {{"format", "1.5"},
                                                       {"format", "true"},
                                                       {"step", "12.5"},
                                                       {"step", "\"12\""},
                                                       {"step", "18446744073709551615"},
                                                       {"config", "[\"seed = 1\"]"},
                                                       {"space", "3"},
                                                       {"data", "true"},
                                                       {"data", "{\"items\": 3}"}};
  for (const auto& [key, value] : wrong) {
    write_text(description_of(path), whole);
    edit_description(path, [&](auto& json) { json[key] = nlohmann::json::parse(value); });
    EXPECT_TRUE(load_error(path).starts_with(description_of(path).string() + ": ")) << key << " = " << value;
  }
  edit_description(path, [&](auto& json) { json["step"] = 12.5; });
  EXPECT_EQ(load_error(path), description_of(path).string() + ": step is 12.5, a whole number was expected");
}

TEST(LoadRun, AStepThatIsNotTheFoldersIsRefused) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  for (const int64_t step : {13, -12}) {
    edit_description(path, [&](auto& json) { json["step"] = step; });
    EXPECT_EQ(load_error(path),
              concat(description_of(path).string(), ": step ", step,
                     " in a folder named step-0000000000012; the two belong to different checkpoints"));
  }
}

TEST(LoadRun, WeightsOfAnotherStepAreRefused) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  edit_tensors(path, [](auto& tensors) { tensors["adam.step"] = torch::tensor(int64_t{11}); });
  EXPECT_EQ(load_error(path),
            tensors_of(path).string() + ": holds the weights after step 11, model.json is of step 12");
}

TEST(LoadRun, AConfigThatDoesNotParseNamesTheFileAndItsLine) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto file = description_of(path).string();
  edit_description(path, [](auto& json) { json["config"] = "seed = 1\n[path]\nepsilon = 0.1\n"; });
  EXPECT_EQ(load_error(path), file + ", config:3: unknown key path.epsilon; the nearest known key is path.eps");
  edit_description(path, [](auto& json) { json["config"] = "seed = \n"; });
  EXPECT_TRUE(load_error(path).starts_with(file + ", config:1: not valid TOML: "));
}

TEST(LoadRun, AModelThatCannotBeIsNamedWithItsFile) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto file = description_of(path).string();
  const auto whole = read_file(description_of(path));
  edit_config(path, [](Experiment& e) { e.net.kind = "unet"; });  // for a table
  EXPECT_TRUE(load_error(path).starts_with(file + ": "));
  write_text(file, whole);
  edit_description(path, [](auto& json) { json["space"]["variables"][0]["labels"] = 0; });
  EXPECT_EQ(load_error(path), file + ": variable y1: a variable has 1 to 65536 labels, found 0");
}

TEST(LoadRun, ASpaceThatDisagreesWithTheTensorsIsRefused) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  edit_description(path, [](auto& json) { json["space"]["variables"][1]["labels"] = 3; });
  const auto message = load_error(path);
  EXPECT_TRUE(message.starts_with(tensors_of(path).string() + ": the checkpoint's tensor ")) << message;
  EXPECT_TRUE(contains(message, ", the model that model.json describes has ["));
}

TEST(LoadRun, WeightsOfAnotherNetworkAreRefused) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  edit_config(path, [](Experiment& e) { e.net.of<MlpOptions>().hidden = {9}; });
  EXPECT_TRUE(contains(load_error(path), tensors_of(path).string() + ": the checkpoint's tensor "));
}

TEST(LoadRun, ATensorThatIsMissingIsNamed) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto file = tensors_of(path).string();
  edit_tensors(path, [](auto& tensors) { tensors.erase("adam.m.layer0.bias"); });
  EXPECT_EQ(load_error(path), "") << "samples do not need the optimiser";
  edit_tensors(path, [](auto& tensors) { tensors.erase("ema.layer0.bias"); });
  EXPECT_EQ(load_error(path), file + ": the checkpoint has no tensor ema.layer0.bias");
}

TEST(LoadRun, ATensorThatBelongsToNothingIsNamed) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  edit_tensors(path, [](auto& tensors) { tensors["ema.layer7.bias"] = torch::zeros({8}); });
  EXPECT_EQ(load_error(path), tensors_of(path).string() +
                                  ": tensor ema.layer7.bias does not belong to the model that model.json describes");
}

TEST(LoadRun, ATensorOfAnotherShapeOrTypeIsNamed) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto file = tensors_of(path).string();
  edit_tensors(path, [](auto& tensors) { tensors["ema.layer0.bias"] = torch::zeros({1}); });
  EXPECT_EQ(load_error(path), file +
                                  ": the checkpoint's tensor ema.layer0.bias has shape [1], the model that model.json "
                                  "describes has [8]");
  edit_tensors(path, [](auto& tensors) { tensors["ema.layer0.bias"] = torch::zeros({8}, torch::kFloat64); });
  EXPECT_EQ(load_error(path), file + ": the checkpoint's tensor ema.layer0.bias is of type Double, Float was expected");
}

TEST(LoadRun, WeightsThatAreNotFiniteAreNamed) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto file = tensors_of(path).string();
  const auto whole = read_file(file);
  for (const float bad :
       {std::nanf(""), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()})
    for (const char* name : {"ema.layer1.weight", "weights.layer0.bias", "adam.v.time_weight", "time_law.sum"}) {
      write_text(file, whole);
      edit_tensors(path, [&](auto& tensors) { tensors.at(name).view({-1})[3] = bad; });
      EXPECT_EQ(load_error(path), concat(file, ": the checkpoint's tensor ", name, " contains non-finite values"));
    }
}

TEST(LoadRun, ALawOfTimesIsWholeOrAbsent) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto file = tensors_of(path).string();
  const auto whole = read_file(file);
  edit_tensors(path, [](auto& tensors) { tensors["time_law.mass"] = torch::ones({63}, torch::kFloat64); });
  EXPECT_TRUE(contains(load_error(path), file + ": the checkpoint's tensor time_law.mass has shape [63]"));
  for (const auto& name : TimeLaw::state_names()) {
    write_text(file, whole);
    edit_tensors(path, [&](auto& tensors) { tensors.erase(name); });
    EXPECT_EQ(load_error(path), concat(file, ": the checkpoint has no tensor ", name));
  }
  edit_tensors(path, [](auto& tensors) {
    for (const auto& name : TimeLaw::state_names()) tensors.erase(name);
  });
  EXPECT_EQ(load_error(path), "") << "as exported by the first release";
}

TEST(LoadRun, ATruncatedCheckpointIsNamed) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  const auto file = tensors_of(path);
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_TRUE(contains(load_error(path), file.string() + ": tensor "));
}

TEST(StepInName, IsTheNumberOrNothing) {
  EXPECT_EQ(run_files::step_in_name("run/checkpoints/step-0000000000012"), 12);
  EXPECT_EQ(run_files::step_in_name("step-0"), 0);
  for (const char* name : {"step-", "step-12.bak", "step-final", "step--12", "step-99999999999999999999", "12", "best"})
    EXPECT_EQ(run_files::step_in_name(name), std::nullopt) << name;
}

}  // namespace
}  // namespace segre::load_run_test
