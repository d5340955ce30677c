// Runs that earlier releases wrote, see tests/golden/runs/README.md.

#include <cstdlib>
#include <map>

#include "segre/flow/sampler.h"
#include "segre/io/csv.h"
#include "segre/io/files.h"
#include "segre/tasks/score.h"
#include "tests/support/support.h"

namespace segre::old_runs_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRuns = fs::path(SEGRE_SOURCE_DIR) / "tests" / "golden" / "runs";
constexpr int64_t kItems = 3;

// Some items of any space: [kItems, n].
torch::Tensor some_items(const Space& space) {
  auto labels = torch::empty({kItems, space.n_variables()}, torch::kInt64);
  for (int64_t k = 0; k < kItems; ++k)
    for (int64_t i = 0; i < space.n_variables(); ++i) labels[k][i] = (7 * k + 3 * i) % space.n_labels(i);
  return labels;
}

// Nats of the items of each run, as its release had them.
std::map<std::string, std::vector<double>> recorded(const fs::path& release) {
  std::map<std::string, std::vector<double>> nats;
  const auto rows = read_csv(release / "scores.csv");
  for (size_t k = 1; k < rows.size(); ++k) nats[rows[k].fields[0]].push_back(std::stod(rows[k].fields[2]));
  return nats;
}

// Not by fs::copy, which keeps modes: the source may be read-only.
void copy_tree(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path copy = to / fs::relative(entry.path(), from);
    fs::create_directories(entry.is_directory() ? copy : copy.parent_path());
    if (!entry.is_directory()) test::write_text(copy, read_file(entry.path()));
  }
}

TEST(OldRuns, AreLoadedAndScoreAsTheyDid) {
  // Sums of up to 64 variables in float32, rounded differently by other processors.
  constexpr double kRounding = 1e-3;
  int n_runs = 0;
  for (const auto& release : fs::directory_iterator(kRuns)) {
    if (!release.is_directory()) continue;
    for (const auto& [name, nats] : recorded(release.path())) {
      SCOPED_TRACE((release.path() / name).string());
      const LoadedRun run = load_run(release.path() / name, torch::kCPU);
      const Scorer score(run, {.error = {}, .evaluations = 32, .seed = 7});
      const auto found = -score(some_items(run.model.space())).all().log_p;
      ASSERT_EQ(nats.size(), static_cast<size_t>(kItems));
      for (int64_t k = 0; k < kItems; ++k) {
        EXPECT_NEAR(found[k].item<double>(), nats[k], kRounding) << "item " << k;
        EXPECT_GT(nats[k], 0.1) << "no item is certain";
      }
      const Samples samples = Sampler(run.model, run.experiment.sample, 1).draw(0, 2);
      EXPECT_NO_THROW(check_labels(run.model.space(), samples.labels));
      ++n_runs;
    }
  }
  EXPECT_GE(n_runs, 5);
}

TEST(OldRuns, TheirConfigsAreRead) {
  for (const auto& file : fs::recursive_directory_iterator(kRuns)) {
    if (file.path().filename() != "config.toml") continue;
    Experiment experiment;
    EXPECT_NO_THROW(schema_of(experiment).read_file(file.path())) << file.path();
    EXPECT_EQ(experiment.train.steps, 20) << file.path();
  }
}

TEST(OldRuns, AreTrainedOn) {
  const test::ScratchFolder folder;
  copy_tree(kRuns / "0.1.0" / "resumable", folder / "run");
  test::write_text(folder / "visits.csv", read_file(kRuns / "0.1.0" / "visits.csv"));
  const auto command = concat("cd '", folder.path().string(), "' && '", SEGRE_PROGRAM,
                              "' train --out run --resume --set train.steps=30 > log 2>&1");
  ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder / "log");
  EXPECT_EQ(load_run(folder / "run", torch::kCPU, Checkpoint::last).step, 30);
}

}  // namespace
}  // namespace segre::old_runs_test
