#include "segre/runs/train_display.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/heard_log.h"
#include "tests/support/messages.h"

namespace segre::train_display_test {
namespace {

using test::HeardLog;

Space pair() { return Space::table({{"a", 2, {}}, {"b", 2, {}}}); }

// A finished training of the pair with these validations: nats, whose loss is the same number, and their errors.
TrainResult result_of(const std::vector<double>& nats, double error = 0.001) {
  TrainResult result{.space = pair(), .independent_nats = 1.38629, .uniform_nats = 1.38629};
  result.steps = 200;
  result.new_steps = 200;
  result.finished = true;
  result.n_held_out = 512;
  int64_t step = 0;
  // Items spread by `error`, as far as two of them can, and all change by the same.
  const auto spread = error * torch::tensor({-1.0, 1.0}, torch::kFloat64);
  for (const double value : nats) result.validations.push_back({step += 50, {value, value, error, value + spread}});
  return result;
}

std::string end_of(const TrainResult& result, const EndWords& words = {}) {
  HeardLog log;
  print_end(result, "runs/pair", 75.2, words);
  return log.text();
}

const std::string kTrained = "trained 200 steps in 1m15s into runs/pair\n";
const std::string kBaseline = "baseline  1.386 if the columns were independent, 1.386 if labels were equally likely\n";

std::string held_out(const std::string& nats) {
  return "held out  " + nats + " nats per item (a bound on -log p, over 512 items)\n";
}

TEST(TrainDisplay, SaysWhatIsTrained) {
  HeardLog log;
  const Space space = pair();
  TrainDisplay display;
  const TrainCallbacks callbacks = display.callbacks();
  EXPECT_FALSE(callbacks.signals) << "left to the program";
  callbacks.on_start({space, "MLP with 1 hidden layer", /*batch=*/32, /*n_items=*/64, /*n_held_out=*/8,
                      /*n_parameters=*/204, /*first_step=*/3,
                      /*expected_steps=*/12, /*max_seconds=*/75.2});
  EXPECT_EQ(log.text(),
            "data      table of 2 variables with 2 labels each; 64 training items, 8 held out for validation\n"
            "network   MLP with 1 hidden layer, 204 parameters\n"
            "training  about 12 steps of 32 items, 6.0 passes over the data, after 3 earlier ones, within 1m15s\n");
  callbacks.on_start({space, "MLP with 1 hidden layer", 32, 0, 0, 204, 0, 12, 0.0});
  EXPECT_EQ(log.text(),
            "data      table of 2 variables with 2 labels each; unlimited training items, none held out\n"
            "network   MLP with 1 hidden layer, 204 parameters\n"
            "training  12 steps of 32 items\n");
}

TEST(TrainDisplay, SaysWhichRecipe) {
  HeardLog log;
  print_recipe("a small table");
  EXPECT_EQ(log.text(), "recipe    a small table\n");
}

TEST(TrainDisplay, SaysAtTheEndHowGoodTheModelIs) {
  EXPECT_EQ(end_of(result_of({})), kTrained);
  EXPECT_EQ(end_of(result_of({1.2})), kTrained + held_out("1.2000 +- 0.0010") + kBaseline);
  EXPECT_EQ(end_of(result_of({1.2}, std::nan(""))), kTrained + held_out("1.200") + kBaseline);
}

TEST(TrainDisplay, SaysThatNatsOfNumbersAreThoseOfTheirLevels) {
  TrainResult result = result_of({1.2});
  Bins bins{Bins::Unit::number, {0, 10, 20}};
  bins.are_levels = true;
  result.space = Space::table({{"a", 2, {}, bins}, {"b", 2, {}}});
  EXPECT_TRUE(
      test::contains(end_of(result), " nats per item (a bound on -log p of labels and levels, over 512 items)\n"));
}

TEST(TrainDisplay, SaysAtTheEndWhetherLongerTrainingWouldHelp) {
  EXPECT_EQ(end_of(result_of({1.4, 1.3, 1.25, 1.2})),
            kTrained + held_out("1.2000 +- 0.0010") + kBaseline +
                "progress  still improving (0.10 nats since step 100): longer training would help\n");
  EXPECT_EQ(end_of(result_of({1.4, 1.201, 1.2005, 1.2})),
            kTrained + held_out("1.2000 +- 0.0010") + kBaseline +
                "progress  no longer improving: longer training would help little\n");
}

TEST(TrainDisplay, SaysAtTheEndThatTheModelOverfitsAndWhichStepIsUsed) {
  TrainResult result = result_of({1.4, 1.2, 1.25, 1.3});
  const EndWords words{.best_is_used = "used", .best_is_kept = "kept", .to_continue = "more"};
  const std::string progress =
      "progress  held-out items were most likely at step 100, 1.200 nats; since then the model overfits: ";
  const std::string advice = "; more data or a smaller network would help\n";
  EXPECT_EQ(end_of(result, words), kTrained + held_out("1.3000 +- 0.0010") + kBaseline + progress + "kept" + advice);
  result.uses_best = true;
  EXPECT_EQ(end_of(result, words), kTrained + held_out("1.2000 +- 0.0010") + kBaseline + progress + "used" + advice);
  ASSERT_NE(best_before_the_end(result), nullptr);
  EXPECT_EQ(best_before_the_end(result)->step, 100);
  EXPECT_EQ(best_before_the_end(result_of({1.4, 1.3, 1.2})), nullptr) << "the last is the best";
}

TEST(TrainDisplay, SaysThatNothingWasLeftToDo) {
  TrainResult result = result_of({});
  result.new_steps = 0;
  EXPECT_EQ(end_of(result), "runs/pair: all 200 steps are already done, nothing to do\n");
  EXPECT_EQ(end_of(result, {.to_continue = "more: steps=N"}),
            "runs/pair: all 200 steps are already done, nothing to do (more: steps=N)\n");
}

}  // namespace
}  // namespace segre::train_display_test
