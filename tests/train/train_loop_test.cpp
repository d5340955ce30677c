#include "segre/train/train_loop.h"

#include <nlohmann/json.hpp>

#include "segre/sources/source_kinds.h"
#include "tests/runs/tiny.h"
#include "tests/support/threads.h"

namespace segre::train_loop_test {
namespace {

// What a training left behind, in memory.
struct Kept final : TrainRecord {
  TrainPast past() override { return before; }
  void log(const nlohmann::json& line) override { (line.contains("loss") ? losses : validations).push_back(line); }
  void save(int64_t step, int64_t /*total*/, const NamedTensors& state) override {
    saved.push_back(step);
    last = state;
  }
  void mark_best(int64_t step, double /*validation_loss*/) override { best = step; }
  void draw(int64_t step, const Model& /*averaged*/) override { drawn.push_back(step); }
  void finish(int64_t total) override { finished = total; }

  TrainPast before;
  std::vector<nlohmann::json> losses, validations;
  std::vector<int64_t> saved, drawn;
  NamedTensors last;
  int64_t best = -1;
  int64_t finished = -1;
};

std::vector<int64_t> steps_of(const std::vector<nlohmann::json>& lines) {
  std::vector<int64_t> steps;
  for (const auto& line : lines) steps.push_back(line.at("step").get<int64_t>());
  return steps;
}

class Loop : public testing::Test {
 protected:
  void SetUp() override {
    experiment_.train.steps = 120;
    experiment_.watch.every = 30;
    experiment_.watch.evaluations = 64;
    experiment_.watch.save_seconds = 1e6;
  }
  // Trains for all steps, with `patience`; the validations.
  std::vector<ValidationPoint> train(Kept& kept, int64_t patience = 0, const TrainCallbacks& callbacks = {}) {
    const test::Threads one(1);
    const auto source = open_source(experiment_.data);
    const Model model = make_model(experiment_, source->space(), torch::kCPU);
    Trainer trainer(model, *source, experiment_.train, 1);
    Validation validation(make_model(experiment_, source->space(), torch::kCPU), source->rows(0, 4),
                          experiment_.train.objective, trainer.t_max(), experiment_.watch.evaluations);
    const TrainClock clock(
        std::make_shared<AgreedClock>(one_rank(), [&] { return callbacks.stop && callbacks.stop(); }), 0.0, 0.0);
    const int64_t steps = experiment_.train.steps;
    const TrainLength length{.steps = steps, .expected = steps, .most = steps, .batch = experiment_.train.batch};
    TrainLoop loop(trainer, Timetable(clock, length, experiment_.watch), Watcher(std::move(validation), patience, 1.5),
                   kept, callbacks);
    taken_ = loop();
    return loop.validations();
  }

  Experiment experiment_ = test::tiny_experiment();
  int64_t taken_ = 0;
};

TEST_F(Loop, RecordsLossesValidationsPicturesAndStates) {
  Kept kept;
  const auto validations = train(kept);
  EXPECT_EQ(taken_, 120);
  EXPECT_EQ(steps_of(kept.losses), (std::vector<int64_t>{50, 100, 120}));
  EXPECT_EQ(steps_of(kept.validations), (std::vector<int64_t>{30, 60, 90, 120}));
  ASSERT_EQ(validations.size(), 4u);
  for (size_t k = 0; k < validations.size(); ++k)
    EXPECT_EQ(kept.validations[k].at("validation_loss"), validations[k].result.loss);
  EXPECT_EQ(kept.drawn, std::vector<int64_t>{120});
  EXPECT_EQ(kept.saved.front(), 0) << "from here on the run can be resumed";
  EXPECT_EQ(kept.saved.back(), 120);
  EXPECT_TRUE(kept.last.contains("metrics.window"));
  EXPECT_EQ(kept.finished, 120);
  const auto best = std::min_element(validations.begin(), validations.end(),
                                     [](const auto& a, const auto& b) { return a.result.loss < b.result.loss; });
  EXPECT_EQ(kept.best, best->step);
}

TEST_F(Loop, EndsWhereNothingBetterIsFound) {
  Kept kept;
  kept.before.best_loss = -1e9;  // nothing is better
  kept.before.n_without_best = 1;
  train(kept, /*patience=*/3);
  EXPECT_EQ(taken_, 60);
  EXPECT_EQ(kept.best, -1);
  EXPECT_EQ(kept.finished, 60) << "the training has no more steps than that";
  EXPECT_EQ(kept.validations.back().at(Watcher::kSinceBest), 3);
}

TEST_F(Loop, ReportsWhatItKnows) {
  Kept kept;
  std::vector<TrainProgress> reported;
  train(kept, 0, {.on_progress = [&](const TrainProgress& at) { reported.push_back(at); }});
  ASSERT_FALSE(reported.empty());
  EXPECT_EQ(reported.back().step, 120);
  EXPECT_EQ(reported.back().independent_nats, 1.5);
  EXPECT_EQ(reported.back().held_out_nats, kept.validations.back().at("validation_nats"));
}

TEST_F(Loop, StopsWithAStateToResumeFrom) {
  Kept kept;
  int64_t asked = 0;
  train(kept, 0, {.stop = [&] { return ++asked > 7; }});
  EXPECT_EQ(taken_, 7);
  EXPECT_EQ(kept.saved.back(), 7);
  EXPECT_TRUE(kept.losses.empty()) << "they are in the state";
  EXPECT_EQ(kept.last.at("metrics.window")[1].item<double>(), 7.0);
}

}  // namespace
}  // namespace segre::train_loop_test
