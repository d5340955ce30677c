// Tasks shared by ranks, here threads of one process: the answers of one, to the bit.

#include <sstream>

#include "segre/sources/relabel.h"
#include "segre/tasks/complete_items.h"
#include "segre/tasks/detect_outside.h"
#include "segre/tasks/evaluate_run.h"
#include "segre/tasks/predict.h"
#include "segre/tasks/rank_outliers.h"
#include "segre/tasks/sample_run.h"
#include "segre/tasks/score.h"
#include "segre/tasks/training_items.h"
#include "tests/runs/trained.h"
#include "tests/support/thread_ranks.h"
#include "tests/tasks/known_tree.h"

namespace segre::tasks_test {
namespace {

using test::as_ranks;
using test::ScratchFolder;

constexpr int64_t kRows = 2600;  // more than two blocks

// A table of three coupled columns; every so often a cell is missing.
std::string table(bool with_missing) {
  const char* const sky[] = {"sun", "cloud", "rain"};
  const char* const ground[] = {"dry", "damp", "wet"};
  const char* const wind[] = {"north", "east", "south", "west"};
  std::string text = "sky,ground,wind\n";
  for (int64_t k = 0; k < kRows; ++k) {
    const int64_t weather = k * k % 7 % 3;
    text += with_missing && k % 11 == 3 ? "" : sky[weather];
    text += std::string(",") + (with_missing && k % 13 == 5 ? "" : ground[(weather + (k % 17 == 0 ? 1 : 0)) % 3]);
    text += std::string(",") + wind[k * 5 % 11 % 4] + "\n";
  }
  return text;
}

// A tiny model of that table, trained once.
class TasksOverRanks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    test::write_text(*folder_ / "t.csv", table(/*with_missing=*/true));
    test::write_text(*folder_ / "full.csv", table(/*with_missing=*/false));
    test::write_text(*folder_ / "odd.csv", "sky,ground,wind\nsun,wet,north\nrain,dry,west\n");
    Experiment e = test::tiny_experiment();
    e.data = source("t.csv");
    e.train.evidence.kind = EvidenceKind::any;
    test::train_into(*folder_ / "run", e);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  TasksOverRanks() {
    run_.experiment.sample.sampler = "euler";
    run_.experiment.sample.steps = 2;
  }

  static std::string source(const std::string& name) {
    return concat("csv:", (*folder_ / name).string(), "?missing=unknown");
  }
  // The first rows, kUnknown for missing cells.
  torch::Tensor rows(int64_t count) const {
    return open_source_for(run_.model.space(), source("t.csv"), "data", Unknowns::allow)->rows(0, count);
  }
  // Does some work as each of several ranks, with the run as they loaded it.
  void over_ranks(int size, const std::function<void(const LoadedRun&)>& work) const {
    as_ranks(size, [&](const auto& ranks) {
      LoadedRun mine = run_;
      mine.ranks = ranks;
      work(mine);
    });
  }

  test::Threads threads_{1};
  LoadedRun run_ = load_run(*folder_ / "run", torch::kCPU);

 private:
  static inline std::unique_ptr<ScratchFolder> folder_;
};

// Whether two tensors have the same bits, or are both undefined.
bool same(const torch::Tensor& a, const torch::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != torch::kFloat64) return torch::equal(a, b);
  return torch::equal(a.contiguous().view(torch::kInt64), b.contiguous().view(torch::kInt64));
}

void expect_same(const ItemScores& found, const ItemScores& expected) {
  EXPECT_TRUE(same(found.log_p, expected.log_p));
  EXPECT_TRUE(same(found.std_error, expected.std_error));
  EXPECT_TRUE(same(found.integration, expected.integration));
  EXPECT_TRUE(same(found.shared, expected.shared));
  EXPECT_TRUE(same(found.cells, expected.cells));
}

// Samples of a run as the ranks that get them see them, and the totals.
struct Drawn {
  torch::Tensor labels;
  SampleRunResult result;
};

Drawn draw(const LoadedRun& run, int64_t count, const torch::Tensor& given = {}) {
  std::vector<torch::Tensor> all;
  int64_t n_drawn = 0;
  const auto use = [&](const torch::Tensor& labels, int64_t first) {
    EXPECT_EQ(first, n_drawn);
    n_drawn += labels.size(0);
    all.push_back(labels);
  };
  const Sampler sampler(run.model, run.experiment.sample, 5);
  GivenRows rows;
  if (given.defined()) rows = [given](int64_t, int64_t n) { return Known{.labels = given.expand({n, -1})}; };
  const auto result = sample_run(run, sampler, count, use, {}, rows);
  return {all.empty() ? torch::Tensor() : torch::cat(all), result};
}

void expect_same(const Drawn& found, const Drawn& expected, const Ranks& ranks) {
  EXPECT_TRUE(same(found.labels, ranks.is_first() ? expected.labels : torch::Tensor()));
  EXPECT_EQ(found.result.totals.n_evaluations, expected.result.totals.n_evaluations);
  EXPECT_EQ(found.result.totals.n_undecided, expected.result.totals.n_undecided);
}

TEST_F(TasksOverRanks, SamplesAreThoseOfOneAndGoToTheFirst) {
  constexpr int64_t kCount = 70'000;  // several rounds of one rank and of two, one round of three
  const Drawn one = draw(run_, kCount);
  for (const int size : {2, 3})
    over_ranks(size, [&](const LoadedRun& run) { expect_same(draw(run, kCount), one, *run.ranks); });
}

TEST_F(TasksOverRanks, FewSamplesLeaveRanksWithoutWork) {
  run_.experiment.sample.sampler = "dopri5";  // each sample takes its own number of evaluations
  const auto given = torch::tensor({{int64_t{0}, kUnknown, int64_t{2}}});
  const Drawn one = draw(run_, 1500);
  const Drawn one_given = draw(run_, 1500, given);
  over_ranks(4, [&](const LoadedRun& run) {
    expect_same(draw(run, 1500), one, *run.ranks);
    expect_same(draw(run, 1500, given), one_given, *run.ranks);
  });
}

TEST_F(TasksOverRanks, ScoresAreThoseOfOneByEveryMethod) {
  const std::vector<ScoreOptions> methods{
      {.error = ErrorGoal{.nats = 0.3}},
      {.error = ErrorGoal{.nats = 0.5}, .each = true, .evaluations = 256},
      {.error = {}, .evaluations = 8, .per_variable = true},
      {.method = ScoreMethod::path, .error = {}, .evaluations = 3, .panels = 1},
      {.method = ScoreMethod::path, .error = {}, .evaluations = 3, .log_mean = true, .panels = 1},
      {.method = ScoreMethod::direct, .error = {}, .evaluations = 2500},
      {.method = ScoreMethod::order, .error = ErrorGoal{.nats = 0.3}},
      {.method = ScoreMethod::order,
       .error = {},
       .evaluations = 1,
       .order = LabelOrder::left_to_right,
       .per_variable = true}};
  for (const ScoreOptions& options : methods) {
    const bool needs_all = options.method == ScoreMethod::direct;
    const auto labels = needs_all ? rows(40).clamp_min(0) : rows(40);
    const ScoredData one = Scorer(run_, options)(labels);
    for (const int size : {2, 3})
      over_ranks(size, [&](const LoadedRun& run) {
        const ScoredData found = Scorer(run, options)(labels);
        expect_same(found.scores.items, one.scores.items);
        EXPECT_EQ(found.scores.describe(), one.scores.describe());
        EXPECT_EQ(found.summary.log_p, one.summary.log_p);
      });
  }
}

TEST_F(TasksOverRanks, MoreRanksThanItemsScoreThem) {
  const auto labels = rows(3);
  const ScoreOptions options{.error = ErrorGoal{.nats = 0.3}, .per_variable = true};
  const ScoredData one = Scorer(run_, options)(labels);
  over_ranks(5,
             [&](const LoadedRun& run) { expect_same(Scorer(run, options)(labels).scores.items, one.scores.items); });
}

TEST_F(TasksOverRanks, AllLabelingsAreScoredAndTheirFrequenciesGoToTheFirst) {
  const ScoreOptions options{.error = {}, .evaluations = 8};
  const ScoredSpace one = Scorer(run_, options).all_labelings(3000);
  over_ranks(3, [&](const LoadedRun& run) {
    const ScoredSpace found = Scorer(run, options).all_labelings(3000);
    expect_same(found.scores.items, one.scores.items);
    EXPECT_TRUE(same(found.frequencies, run.ranks->is_first() ? one.frequencies : torch::Tensor()));
  });
}

// What completing the table writes: the table, and the probabilities.
std::pair<std::string, std::string> completed(const LoadedRun& run, const std::string& data, int64_t draws) {
  std::ostringstream out;
  std::ostringstream probabilities;
  const Completer completer(run, {.sample = run.experiment.sample, .seed = 3});
  EXPECT_EQ(complete_csv(completer, parse_source_name(data), "data",
                         {.draws = draws, .out = &out, .probabilities = &probabilities}, 3),
            kRows);
  return {out.str(), probabilities.str()};
}

TEST_F(TasksOverRanks, CompletedTablesAreThoseOfOneAndWrittenByTheFirst) {
  for (const int64_t draws : {0, 2}) {
    const auto one = completed(run_, source("t.csv"), draws);
    EXPECT_GT(one.first.size(), static_cast<size_t>(kRows));
    for (const int size : {2, 4})
      over_ranks(size, [&](const LoadedRun& run) {
        const auto found = completed(run, source("t.csv"), draws);
        EXPECT_EQ(found.first, run.ranks->is_first() ? one.first : "");
        EXPECT_EQ(found.second, run.ranks->is_first() ? one.second : "");
      });
  }
}

TEST_F(TasksOverRanks, CompletedItemsAreThoseOfOne) {
  const auto labels = rows(kRows);
  const auto soft = test::noise({kRows, run_.model.space().n_coordinates()});
  const auto complete = [&](const LoadedRun& run) {
    const Completer completer(run, {.sample = run.experiment.sample, .noise = 0.1});
    std::vector<CompletedItems> all;
    ItemsInMemory items({.labels = labels, .soft = soft});
    complete_items(completer, items, {.draws = 2, .probabilities = true},
                   [&](const CompletedItems& done) { all.push_back(done); });
    return all;
  };
  const auto one = complete(run_);
  ASSERT_EQ(one.size(), 1U);
  over_ranks(3, [&](const LoadedRun& run) {
    const auto found = complete(run);
    ASSERT_EQ(found.size(), run.ranks->is_first() ? 1U : 0U);
    if (found.empty()) return;
    EXPECT_TRUE(same(found[0].known, one[0].known));
    EXPECT_TRUE(same(found[0].labels, one[0].labels));
    EXPECT_TRUE(same(found[0].probabilities, one[0].probabilities));
  });
}

TEST_F(TasksOverRanks, PredictionsAreThoseOfOne) {
  const auto predict = [&](const LoadedRun& run) {
    std::ostringstream out;
    const auto quality = test::predict_into(run, parse_source_name(source("t.csv")), "ground", out);
    return std::pair(out.str(), quality.describe());
  };
  const auto [text, quality] = predict(run_);
  over_ranks(3, [&, &one = text, &expected = quality](const LoadedRun& run) {
    const auto [found, its_quality] = predict(run);
    EXPECT_EQ(found, run.ranks->is_first() ? one : "");
    EXPECT_EQ(its_quality, expected);
  });
}

TEST_F(TasksOverRanks, OddRowsAreThoseOfOne) {
  const auto rank = [&](const LoadedRun& run) {
    const auto data = open_source_for(run.model.space(), source("full.csv"), "data");
    const auto train = open_training_items(run, source("full.csv"));
    return rank_outliers(run, *data, *train, {.items = 300, .calibration = 50, .error = 0.05, .times = 128});
  };
  const RankedRows one = rank(run_);
  for (const int size : {2, 3})
    over_ranks(size, [&](const LoadedRun& run) {
      const RankedRows found = rank(run);
      EXPECT_TRUE(same(found.rows.score, one.rows.score));
      EXPECT_TRUE(same(found.rows.std_error, one.rows.std_error));
      EXPECT_TRUE(same(found.rows.variable, one.rows.variable));
      EXPECT_TRUE(same(found.rows.nats, one.rows.nats));
      EXPECT_EQ(found.account, one.account);
    });
}

// What detecting rows outside the table finds, and the files that hold it.
struct Detected {
  OutsideReport report;
  std::string scores;
  std::string auroc;
};

Detected detect(const LoadedRun& run, const DetectOptions& options) {
  Detected found{.report = detect_outside(run, "run", options), .scores = {}, .auroc = {}};
  std::ostringstream scores;
  std::ostringstream auroc;
  write_scores_csv(scores, found.report.inside, found.report.outside);
  write_auroc_csv(auroc, found.report.results);
  found.scores = scores.str();
  found.auroc = auroc.str();
  return found;
}

TEST_F(TasksOverRanks, RowsFromOutsideAreDetectedAsByOne) {
  const DetectOptions options{.inside = source("full.csv"),
                              .outside = source("odd.csv"),  // fewer rows than ranks
                              .train = source("full.csv"),
                              .items = 300,
                              .calibration = 50,
                              .score = {.error = {}, .evaluations = 12}};
  const Detected one = detect(run_, options);
  for (const int size : {2, 3})
    over_ranks(size, [&](const LoadedRun& run) {
      const Detected found = detect(run, options);
      EXPECT_EQ(found.scores, one.scores);
      EXPECT_EQ(found.auroc, one.auroc);
      EXPECT_EQ(found.report.how_recommended, one.report.how_recommended);
      EXPECT_TRUE(same(found.report.oddest_inside.numbers, one.report.oddest_inside.numbers));
      EXPECT_TRUE(same(found.report.oddest_inside.nats, one.report.oddest_inside.nats));
      EXPECT_TRUE(same(found.report.oddest_outside.nats, one.report.oddest_outside.nats));
    });
}

TEST_F(TasksOverRanks, SamplesAreEvaluatedByTheFirst) {
  const EvaluateRunOptions options{.data = source("full.csv"),
                                   .train = source("full.csv"),
                                   .count = 2100,
                                   .items = 50,
                                   .sample = run_.experiment.sample};
  const RunEvaluation one = evaluate_run(run_, "run", options);
  over_ranks(2, [&](const LoadedRun& run) {
    const RunEvaluation found = evaluate_run(run, "run", options);
    EXPECT_EQ(found.n_evaluations, one.n_evaluations);
    EXPECT_EQ(found.setting, one.setting);
    EXPECT_TRUE(same(found.data.samples, run.ranks->is_first() ? one.data.samples : torch::Tensor()));
    EXPECT_EQ(found.found.metrics.size(), run.ranks->is_first() ? one.found.metrics.size() : 0U);
  });
}

}  // namespace
}  // namespace segre::tasks_test
