// What the commands do, called as a program with segre inside calls it: silent, with callbacks, and the same numbers as
// the parts it is made of.

#include <algorithm>

#include "segre/likelihood/free_bound.h"
#include "segre/sources/relabel.h"
#include "segre/tasks/check_estimators.h"
#include "segre/tasks/converge.h"
#include "segre/tasks/detect_outside.h"
#include "segre/tasks/evaluate_run.h"
#include "segre/tasks/known_joint.h"
#include "segre/tasks/rank_outliers.h"
#include "segre/tasks/sample_run.h"
#include "segre/tasks/score.h"
#include "segre/tasks/training_items.h"
#include "tests/runs/trained.h"
#include "tests/support/messages.h"

namespace segre::tasks_test {
namespace {

using test::ScratchFolder;

// A tiny model of the coupled pair, trained once.
class Tasks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    test::train_into(*folder_ / "run");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  LoadedRun run_ = load_run(*folder_ / "run", torch::kCPU);
  test::Threads threads_{2};

 private:
  static inline std::unique_ptr<ScratchFolder> folder_;
};

// What callbacks hear of some work.
struct Heard {
  std::vector<WorkProgress> all;
  WorkCallbacks callbacks{.on_progress = [this](const WorkProgress& progress) { all.push_back(progress); }};
};

TEST_F(Tasks, ScoresAreThoseOfTheBoundWithRepeatsScoredOnce) {
  const auto labels = torch::tensor({{0, 0}, {1, 1}, {0, 0}, {0, 1}, {0, 0}}, torch::kInt64);
  Heard heard;
  const ScoredData scored = Scorer(run_, {.error = {}, .evaluations = 64, .seed = 7})(labels, heard.callbacks);
  const auto expected = FreeBound(flow_of(run_.model), run_.times, {.times = 64, .seed = 7})(labels);
  EXPECT_TRUE(torch::equal(scored.all().log_p, expected.log_p));
  EXPECT_EQ(scored.distinct.labels.size(0), 3);
  EXPECT_EQ(scored.summary.n_items, 5);
  EXPECT_NEAR(scored.summary.log_p, expected.log_p.mean().item<double>(), 1e-12);
  EXPECT_EQ(scored.scores.reached.spent, 64);
  ASSERT_FALSE(heard.all.empty());
  EXPECT_EQ(heard.all.back().what, "scoring");
  EXPECT_EQ(heard.all.back().done, heard.all.back().total);
}

TEST_F(Tasks, AnErrorIsReachedOrSaidNotToBe) {
  const auto labels = torch::tensor({{0, 0}, {1, 1}, {1, 0}}, torch::kInt64);
  const ScoredData scored = Scorer(run_, {.error = ErrorGoal{.nats = 0.05}})(labels);
  EXPECT_LE(scored.summary.estimation_error, 0.05);
  EXPECT_FALSE(scored.scores.reached.capped);
  const ScoredData capped = Scorer(run_, {.error = ErrorGoal{.nats = 1e-6}, .evaluations = 64})(labels);
  EXPECT_TRUE(capped.scores.reached.capped);
  EXPECT_TRUE(test::contains(capped.scores.describe(), "the target was"));
}

TEST_F(Tasks, EveryLabelingIsScoredBesideItsFrequency) {
  const ScoredSpace space =
      Scorer(run_, {.method = ScoreMethod::path, .error = {}, .evaluations = 16}).all_labelings(20'000);
  EXPECT_EQ(space.labels.size(0), 4);
  EXPECT_NEAR(space.sum.value, 1.0, 5.0 * space.sum.error + 0.02);
  EXPECT_NEAR(space.frequencies.select(1, 0).sum().item<double>(), 1.0, 1e-12);
  EXPECT_TRUE(test::contains(compare_with_frequencies(space, "rk4"), "total variation"));
}

TEST_F(Tasks, WorkStopsWhenItsCallerSaysSo) {
  const auto labels = torch::tensor({{0, 0}, {1, 1}}, torch::kInt64);
  const WorkCallbacks stop{.stop = [] { return true; }};
  EXPECT_THROW(Scorer(run_, {.error = {}, .evaluations = 64})(labels, stop), Interrupted);
  const Sampler sampler(run_.model, run_.experiment.sample, 1);
  EXPECT_THROW(sample_run(
                   run_, sampler, 10, [](const auto&, int64_t) {}, stop),
               Interrupted);
  EXPECT_THROW(evaluate_run(run_, "run", {.data = "coupled", .items = 50}, stop), Interrupted);
  EXPECT_THROW(detect_outside(run_, "run", {.inside = "coupled", .outside = "coupled", .items = 20}, stop),
               Interrupted);
}

TEST_F(Tasks, SamplesAreTheSamplersAndKnowTheirTotalVariation) {
  constexpr int64_t kCount = 40'000;  // more than one batch
  std::vector<torch::Tensor> drawn;
  int64_t n_drawn = 0;
  const Sampler sampler(run_.model, run_.experiment.sample, 5);
  const auto result = sample_run(run_, sampler, kCount, [&](const torch::Tensor& labels, int64_t first) {
    EXPECT_EQ(first, n_drawn);
    n_drawn += labels.size(0);
    drawn.push_back(labels);
  });
  EXPECT_GT(drawn.size(), 1u);
  const Samples expected = sampler.draw(0, kCount);
  EXPECT_TRUE(torch::equal(torch::cat(drawn), expected.labels));
  EXPECT_EQ(result.totals.n_evaluations, expected.n_evaluations);
  EXPECT_EQ(result.totals.n_undecided, expected.n_undecided);
  ASSERT_TRUE(result.total_variation);
  EXPECT_GT(result.total_variation->value, 0.0);
  EXPECT_GT(result.total_variation->floor, 0.0);
  LoadedRun moved = run_;
  moved.experiment.data = "csv:gone.csv";
  EXPECT_EQ(known_joint(moved), nullptr);
}

TEST_F(Tasks, NothingIsPrinted) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const auto source = open_source_for(run_.model.space(), "coupled", "data");
  const auto train = open_training_items(run_);
  evaluate_run(run_, "run", {.data = "coupled", .count = 50, .items = 50});
  detect_outside(run_, "run",
                 {.inside = "coupled",
                  .outside = "coupled",
                  .items = 20,
                  .calibration = 20,
                  .score = {.error = {}, .evaluations = 4}});
  const RankedRows ranked = rank_outliers(run_, *source, *train, {.items = 8, .calibration = 20, .times = 32});
  const Convergence converged = converge(run_, source->rows(0, 6), {}, 8);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(ranked.rows.labels.size(0), 8);
  EXPECT_TRUE(test::contains(ranked.account, "different rows scored with"));
  EXPECT_LE(converged.n_items, 4);
  EXPECT_EQ(converged.summary.n_items, 6);
}

TEST(CheckEstimators, EveryEstimatorIsNearTheExactLogP) {
  const test::Threads two(2);
  const JointOracle oracle(random_joint({2, 3}, 1), make_path({}));
  int n_heard = 0;
  const auto checks = check_estimators(oracle, {.times = 2048, .draws = 8, .trajectories = 20'000},
                                       [&](const EstimatorCheck&) { ++n_heard; });
  EXPECT_EQ(n_heard, static_cast<int>(checks.size()));
  for (const EstimatorCheck& check : checks) {
    if (check.name.starts_with("ball")) continue;  // a looser bound
    EXPECT_LT(std::abs(check.mean_error), 5.0 * check.its_error + 1e-3) << check.name;
    EXPECT_NEAR(check.sum.value, 1.0, 5.0 * check.sum.error + 1e-3) << check.name;
  }
  EXPECT_EQ(test::input_error([] {
              random_joint({2, 0}, 1);
            }),
            concat("a variable with 0 labels: expected 1 to ", kMaxLabels));
}

}  // namespace
}  // namespace segre::tasks_test
