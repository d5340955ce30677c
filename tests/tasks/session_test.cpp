// A Session as a server uses it: values instead of text, shared by threads, stopped at a deadline.

#include "segre/tasks/session.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "segre/sources/relabel.h"
#include "segre/tasks/to_json.h"
#include "segre/tasks/training_items.h"
#include "tests/runs/trained.h"
#include "tests/support/at_once.h"
#include "tests/support/heard_log.h"
#include "tests/support/messages.h"
#include "tests/tasks/known_tree.h"

namespace segre::session_test {
namespace {

using test::ScratchFolder;

// Sky and ground depend on each other, heat is in four bins; every so often a cell is missing.
std::string table(int64_t n_rows) {
  std::string text = "sky,ground,heat\n";
  for (int64_t k = 0; k < n_rows; ++k)
    text += concat(k % 3 == 0 ? "rain" : "sun", ",",
                   k % 11 == 5                    ? ""
                   : (k % 3 == 0) == (k % 7 != 0) ? "wet"
                                                  : "dry",
                   ",", k * 37 % 100 * 0.5, "\n");
  return text;
}

// A tiny model of that table, trained once, with known cells.
class Sessions : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    test::write_text(*folder_ / "t.csv", table(400));
    std::string text = "sky,ground,heat\n";
    for (int k = 0; k < 60; ++k) text += concat(k % 3 == 0 ? "rain,wet," : "sun,dry,", k % 50, "\n");
    test::write_text(*folder_ / "full.csv", text);
    Experiment e = test::tiny_experiment();
    e.data = source() + "?bins=heat:4&missing=unknown";
    e.train.evidence.kind = EvidenceKind::any;
    test::train_into(*folder_ / "run", e);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string source() { return "csv:" + (*folder_ / "t.csv").string(); }
  static LoadedRun load() { return load_run(*folder_ / "run", torch::kCPU); }

  torch::Tensor labels(int64_t count) const {
    return first_items(session_.space(), source() + "?missing=unknown", count, "data", Unknowns::allow);
  }
  Completed complete(const torch::Tensor& rows, int64_t draws = 2) const {
    ItemsInMemory items({.labels = rows});
    return session_.complete(items, {{.sample = session_.sampling()}, {.draws = draws, .probabilities = true}});
  }

  // Every kind of request, as the text of its result.
  std::vector<std::function<std::string()>> requests() const {
    const ScoreOptions each{.error = {}, .evaluations = 8, .per_variable = true};
    const ScoreOptions path{.method = ScoreMethod::path, .error = {}, .evaluations = 2, .panels = 1};
    const auto known = labels(40).clamp_min(0);
    const auto sampled = [this](uint64_t seed) {
      return text_of(to_json(session_.sample({.count = 50, .sample = session_.sampling(), .seed = seed})));
    };
    return {[=] { return sampled(1); },
            [=] { return sampled(2); },
            [this] { return text_of(to_json(complete(labels(30)))); },
            [this] {
              const auto rows = stream_csv(parse_source_name(source() + "?limit=25"), session_.space(), "data");
              return text_of(to_json(session_.predict(*rows, {.column = "ground"})));
            },
            [=, this] { return text_of(to_json(session_.score(known, each))); },
            [=, this] { return text_of(to_json(session_.score(known.slice(0, 0, 3), path))); },
            [=, this] { return text_of(to_json(session_.score_all(each, 500))); },
            [this] {
              const auto odd = make_dataset_source({session_.space(), labels(20).clamp_min(0)});
              return text_of(to_json(session_.outliers(*odd, *odd, {.calibration = 10, .times = 32})));
            },
            [this] { return text_of(to_json(session_.evaluate({.data = full(), .train = full(), .count = 40}))); },
            [this] {
              return text_of(to_json(session_.detect({.inside = full(),
                                                      .outside = full(),
                                                      .train = full(),
                                                      .items = 12,
                                                      .calibration = 12,
                                                      .score = {.error = {}, .evaluations = 4}})));
            }};
  }
  // A table without missing cells.
  static std::string full() { return "csv:" + (*folder_ / "full.csv").string(); }

  test::Threads threads_{1};
  Session session_{load(), "run"};

 private:
  static inline std::unique_ptr<ScratchFolder> folder_;
};

TEST_F(Sessions, EveryResultIsTheSameAfterItsJsonIsRead) {
  for (const auto& request : requests()) {
    const std::string text = request();
    EXPECT_EQ(text_of(Json::parse(text)), text);
    EXPECT_TRUE(Json::parse(text).contains("notes")) << text;
  }
}

TEST_F(Sessions, FourThreadsGetTheBitsOfOne) {
  const auto all = requests();
  std::vector<std::string> alone;
  for (const auto& request : all) alone.push_back(request());
  const Session fresh(load(), "run");  // whose samplers and scorers are still to be made
  test::at_once(4, [&](int thread) {
    for (size_t k = 0; k < all.size(); ++k) {
      const size_t which = (k + 3 * static_cast<size_t>(thread)) % all.size();
      EXPECT_EQ(all[which](), alone[which]) << which;
    }
    const auto labels = fresh.sample({.count = 20, .sample = fresh.sampling(), .seed = 5}).labels;
    EXPECT_TRUE(torch::equal(
        labels, Sampler(fresh.run().model, fresh.sampling(), 5).draw(0, 20).labels.to(labels.scalar_type())));
  });
}

TEST_F(Sessions, ARowsResultsDoNotDependOnItsBatch) {
  const auto rows = labels(100);
  const Completed all = complete(rows);
  const Completed alone = complete(rows.slice(0, 0, 1));
  EXPECT_TRUE(torch::equal(alone.items.labels[0], all.items.labels[0]));
  const ScoreOptions options{.error = {}, .evaluations = 8};
  const auto known = rows.clamp_min(0);
  EXPECT_TRUE(torch::equal(session_.score(known, options).all().log_p.slice(0, 7, 8),
                           session_.score(known.slice(0, 7, 8), options).all().log_p));
}

TEST_F(Sessions, ADeadlineIsKept) {
  const auto seconds_of = [](const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(work(), DeadlineExceeded);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  constexpr double kSoon = 0.2;
  constexpr double kSlack = 2.0;  // a block of rows, on a busy machine
  const SampleRequest endless{.count = 100'000'000, .sample = session_.sampling()};
  const auto rows = labels(400).clamp_min(0);
  const std::vector<std::function<void()>> works{
      [&] { session_.sample(endless); }, [&] { session_.score(rows, {.error = {}, .evaluations = 1 << 20}); },
      [&] { session_.score(rows, {.method = ScoreMethod::path, .error = {}, .evaluations = 1 << 16}); },
      [&] { session_.score(rows, {.method = ScoreMethod::order, .error = {}, .evaluations = 1 << 20}); },
      [&] { complete(rows, 1'000'000); }};
  for (const auto& work : works) {
    const DeadlineGuard guard(kSoon);
    EXPECT_LT(seconds_of(work), kSoon + kSlack);
  }
  // It has passed before the work begins.
  const DeadlineGuard outer(0.0);
  const DeadlineGuard later(1000.0);  // the earlier one counts
  EXPECT_THROW(complete(rows.slice(0, 0, 1)), DeadlineExceeded);
}

TEST_F(Sessions, AThreadsDeadlineIsItsOwn) {
  test::at_once(4, [&](int thread) {
    std::optional<DeadlineGuard> guard;
    if (thread % 2 == 0) guard.emplace(0.0);
    const SampleRequest request{.count = 5, .sample = session_.sampling()};
    if (guard) {
      EXPECT_THROW(session_.sample(request), DeadlineExceeded);
    } else {
      EXPECT_EQ(session_.sample(request).labels.size(0), 5);
    }
  });
  EXPECT_EQ(complete(labels(3)).items.labels.size(0), 3);
}

TEST_F(Sessions, NotesAreInTheResultAndNowhereElse) {
  LoadedRun run = load();
  run.experiment.train.evidence.kind = EvidenceKind::uniform;
  const Session untold(std::move(run), "run");
  test::HeardLog log;
  for (int time = 0; time < 2; ++time) {  // a result depends on its request alone
    ItemsInMemory rows({.labels = labels(3)});
    const auto predicted = untold.predict(rows, {.column = "sky"});
    ASSERT_EQ(predicted.notes.size(), 1U);
    EXPECT_TRUE(predicted.notes[0].starts_with("this model was trained with train.evidence")) << predicted.notes[0];
    const ScoreOptions order{.method = ScoreMethod::order, .error = {}, .evaluations = 4};
    EXPECT_EQ(untold.score(labels(3), order).notes, predicted.notes);
  }
  EXPECT_TRUE(session_.score(labels(3), {.error = {}, .evaluations = 4}).notes.empty());
  EXPECT_EQ(log.text(), "");
}

TEST_F(Sessions, PredictionsAreTheProbabilitiesOfCompletions) {
  auto rows = labels(30);
  ItemsInMemory items({.labels = rows});
  const Predicted predicted = session_.predict(items, {.column = "ground", .holes_as_trained = false});
  EXPECT_TRUE(torch::equal(predicted.items.truth, rows.select(1, 1)));
  auto hidden = rows.clone();
  hidden.select(1, 1).fill_(kUnknown);
  const Space& space = session_.space();
  EXPECT_TRUE(torch::equal(predicted.items.probabilities,
                           complete(hidden, 0).items.probabilities.narrow(1, space.offset(1), space.n_labels(1))));
  EXPECT_EQ(predicted.items.rows.back(), 30);
  EXPECT_EQ(predicted.quality.n_truth, (rows.select(1, 1) >= 0).sum().item<int64_t>());
}

TEST_F(Sessions, AFileAndRowsInMemoryGiveTheSame) {
  const auto stream = stream_csv(parse_source_name(source() + "?limit=25"), session_.space(), "data");
  const CompleteRequest request{{.sample = session_.sampling()}, {.draws = 2}};
  const Completed of_file = session_.complete(*stream, request);
  const Completed of_memory = complete(labels(25));
  EXPECT_TRUE(torch::equal(of_file.items.labels, of_memory.items.labels));
  EXPECT_EQ(of_file.items.rows, of_memory.items.rows);
  // Known numbers are those of the file; without their texts, the bins' names.
  EXPECT_EQ(to_json(of_file)["rows"][1]["completions"][0]["heat"], 18.5);
  EXPECT_TRUE(to_json(of_memory)["rows"][1]["completions"][0]["heat"].is_string());
}

TEST(SessionOptions, AreToldApart) {
  const Session session(test::uniform_run(test::space_of({2, 3})), "run");
  SampleOptions options = session.sampling();
  const auto first = session.sampler(options, 1);
  EXPECT_EQ(session.sampler(options, 1), first);
  EXPECT_NE(session.sampler(options, 2), first);
  options.steps += 1;
  EXPECT_NE(session.sampler(options, 1), first);
  ScoreOptions scores{.error = {}, .evaluations = 4};
  const auto scorer = session.scorer(scores);
  EXPECT_EQ(session.scorer(scores), scorer);
  scores.given = torch::tensor({1, 0}).to(torch::kBool);
  const auto given = session.scorer(scores);
  EXPECT_NE(given, scorer);
  scores.given = torch::tensor({0, 1}).to(torch::kBool);
  EXPECT_NE(session.scorer(scores), given);
}

}  // namespace
}  // namespace segre::session_test
