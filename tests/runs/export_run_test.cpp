#include <algorithm>

#include "segre/net/mlp.h"
#include "segre/path/e_geodesic.h"
#include "segre/runs/load_run.h"
#include "segre/runs/run_directory.h"
#include "segre/runs/train_run.h"
#include "tests/runs/trained.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::export_run_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::Threads;
using test::tiny_experiment;
using test::train_into;

TEST(ExportRun, KeepsTheAveragedWeightsAndSamplesTheSame) {
  const Threads one(1);
  for (const double ema : {0.999, 0.0}) {
    const ScratchFolder folder;
    Experiment e = tiny_experiment();
    e.train.adam.ema = ema;
    e.net.of<MlpOptions>().hidden = {64};
    train_run(e, RunDirectory(folder / "run"), {});
    export_run(folder / "run", folder / "small", Checkpoint::last);
    const auto whole = load_run(folder / "run", torch::kCPU);
    const auto small = load_run(folder / "small", torch::kCPU);
    EXPECT_EQ(small.step, 12);
    EXPECT_TRUE(torch::equal(Sampler(small.model, small.experiment.sample, 3).draw(0, 500).labels,
                             Sampler(whole.model, whole.experiment.sample, 3).draw(0, 500).labels));
    const auto file = *RunDirectory(folder / "small").latest() / "model.safetensors";
    const auto kept = read_safetensors(file);
    const auto n_law = static_cast<size_t>(
        std::ranges::count_if(kept, [](const auto& entry) { return entry.first.starts_with("time_law."); }));
    EXPECT_EQ(n_law, 2U) << "likelihoods place their times by it";
    EXPECT_EQ(kept.size(), small.model.field().parameters().size() + n_law);
    for (const auto& [name, tensor] : kept)
      EXPECT_TRUE(name.starts_with(ema > 0.0 ? "ema." : "weights.") || name.starts_with("time_law.")) << name;
    EXPECT_LT(3 * fs::file_size(file), fs::file_size(*RunDirectory(folder / "run").latest() / "model.safetensors"));
  }
}

TEST(ExportRun, BatchNormTakesItsStatisticsAlong) {
  const Threads one(1);
  const ScratchFolder folder;
  Experiment e = tiny_experiment();
  e.net.of<MlpOptions>().batch_norm = true;
  train_run(e, RunDirectory(folder / "run"), {});
  export_run(folder / "run", folder / "small", Checkpoint::best);
  const auto whole = load_run(folder / "run", torch::kCPU, Checkpoint::best);
  const auto small = load_run(folder / "small", torch::kCPU);
  ASSERT_FALSE(small.model.field().buffers().empty());
  for (size_t k = 0; k < small.model.field().buffers().size(); ++k)
    EXPECT_TRUE(torch::equal(small.model.field().buffers()[k].second, whole.model.field().buffers()[k].second));
}

TEST(ExportRun, TakesNothingFromAConfigThatWasRewrittenSince) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  Experiment other = tiny_experiment();
  other.path.of<EGeodesicOptions>().eps = 0.4;
  other.net.of<MlpOptions>().input_gain = 3.0;
  RunDirectory(path).write_config(other);
  export_run(path, folder / "small", Checkpoint::last);
  const auto small = load_run(folder / "small", torch::kCPU);
  EXPECT_EQ(small.experiment.path.of<EGeodesicOptions>().eps, 0.01);
  Experiment beside;
  schema_of(beside).read_file(folder / "small" / "config.toml");
  EXPECT_EQ(beside.path.of<EGeodesicOptions>().eps, 0.01);
  EXPECT_EQ(beside.net.of<MlpOptions>().input_gain, 1.0);
  EXPECT_EQ(small.data, load_run(path, torch::kCPU).data) << "it still says what it learned from";
  ASSERT_TRUE(small.data);
}

TEST(ExportRun, DoesNotOverwriteARun) {
  const ScratchFolder folder;
  const auto path = train_into(folder / "run");
  EXPECT_EQ(input_error([&] { export_run(path, path, Checkpoint::last); }),
            path.string() + ": already contains a run; choose another folder");
  EXPECT_NE(input_error([&] { export_run(folder / "none", folder / "small", Checkpoint::last); }), "");
  EXPECT_FALSE(fs::exists(folder / "small"));
}

TEST(ExportRun, AnExportCannotBeTrainedOn) {
  const ScratchFolder folder;
  export_run(train_into(folder / "run"), folder / "small", Checkpoint::last);
  TrainRunOptions options;
  options.resume = true;
  EXPECT_TRUE(contains(input_error([&] { train_run(tiny_experiment(), RunDirectory(folder / "small"), options); }),
                       "model.safetensors: the checkpoint has no tensor adam.step; an exported model can be "
                       "sampled, but not trained further"));
}

}  // namespace
}  // namespace segre::export_run_test
