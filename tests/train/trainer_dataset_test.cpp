// Trainer on items in memory and on images, and how it reports losses.

#include <cmath>

#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "segre/net/unet.h"
#include "segre/recipes/experiment.h"
#include "segre/train/trainer.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"
#include "tests/support/threads.h"

namespace segre::trainer_dataset_test {
namespace {

using test::input_error;

Experiment small_unet() {
  Experiment e;
  e.net.kind = "unet";
  e.net.of<UNetOptions>().channel_mult = {1};
  e.net.of<UNetOptions>().res_blocks = 1;
  e.train.batch = 16;
  e.train.steps = 30;
  e.train.schedule = {.lr = 3e-3, .warmup = 0, .kind = ScheduleKind::constant};
  return e;
}

Experiment small_mlp() {
  Experiment e = small_unet();
  e.net.kind = "mlp";
  e.net.of<MlpOptions>().hidden = {16};
  return e;
}

// A trainer on the stripes.
struct Training {
  std::unique_ptr<DataSource> source;
  Model model;
  Trainer trainer;

  explicit Training(const Experiment& e, bool mirror = false, uint64_t weights = 1)
      : source(make_dataset_source(test::stripes(mirror))),
        model(source->space(), make_path(e.path), e.form, make_field(source->space(), e.net, weights)),
        trainer(model, *source, e.train, 1) {}

  std::vector<double> steps(int count) {
    for (int k = 0; k < count; ++k) trainer.advance();
    return trainer.take_losses();
  }
};

NamedTensors snapshot(const Trainer& trainer) {
  NamedTensors out;
  for (const auto& [name, tensor] : trainer.state()) out[name] = tensor.detach().clone();
  return out;
}

void expect_resumes_to_the_same_bits(const Experiment& e, bool mirror) {
  const test::Threads one(1);
  Training whole(e, mirror);
  const auto losses = whole.steps(6);
  Training first(e, mirror);
  first.steps(3);
  Training second(e, mirror, /*weights=*/99);
  second.trainer.load(snapshot(first.trainer));
  EXPECT_EQ(second.steps(3), std::vector<double>(losses.begin() + 3, losses.end()));
  const auto wanted = snapshot(whole.trainer);
  for (const auto& [name, tensor] : snapshot(second.trainer))
    EXPECT_TRUE(torch::equal(tensor, wanted.at(name))) << name;
}

TEST(TrainerDataset, ResumesToTheSameBits) {
  for (const bool mirror : {false, true}) expect_resumes_to_the_same_bits(small_mlp(), mirror);
}

TEST(TrainerDataset, AUnetResumesToTheSameBits) { expect_resumes_to_the_same_bits(small_unet(), true); }

TEST(TrainerDataset, ThreadsChangeNoBitOfAUnet) {
  // Two shards, so that convolutions run inside a parallel region, where oneDNN must not count on other threads.
  Experiment e = small_unet();
  e.train.batch = make_field(test::stripes().space, e.net, 1)->shard_rows() + 8;
  NamedTensors states[2];
  for (const int threads : {1, 2}) {
    const test::Threads set(threads);
    Training training(e);
    training.steps(2);
    states[threads - 1] = snapshot(training.trainer);
  }
  for (const auto& [name, tensor] : states[0]) EXPECT_TRUE(torch::equal(states[1].at(name), tensor)) << name;
}

TEST(TrainerDataset, AUnetLearnsStripesAtOnce) {
  const test::Threads one(1);
  Experiment e = small_unet();
  e.train.time_law = TimeLawKind::decision;  // a law that moves makes losses hard to compare
  Training training(e);
  const auto losses = training.steps(30);
  const auto mean = [&](size_t from) { return (losses[from] + losses[from + 1] + losses[from + 2]) / 3.0; };
  EXPECT_LT(mean(27), 0.75 * mean(0));  // early on the path the place of the stripes is left to guess, at any time
}

TEST(TrainerDataset, AClippedStepDiffers) {
  const test::Threads one(1);
  Experiment e = small_mlp();
  Training plain(e);
  e.train.adam.clip = 1e-3;
  e.train.adam.eps = 1e-3;  // against which the length of a gradient shows
  Training clipped(e);
  e.train.adam.clip = 0.0;
  Training eps_alone(e);
  EXPECT_EQ(clipped.steps(1), plain.steps(1));
  const auto far = [](const Training& a, const Training& b) {
    return test::max_difference(a.trainer.state().at("weights.layer1.weight"),
                                b.trainer.state().at("weights.layer1.weight"));
  };
  eps_alone.steps(1);
  EXPECT_GT(far(clipped, eps_alone), 1e-4);
}

TEST(TrainerLosses, ComeAllAtOnceOrOneByOne) {
  const test::Threads one(1);
  Training together(small_mlp());
  Training alone(small_mlp());
  EXPECT_TRUE(together.trainer.take_losses().empty());
  for (const int count : {1, 5, static_cast<int>(Trainer::kLossRing), 7}) {
    std::vector<double> wanted;
    for (int k = 0; k < count; ++k) wanted.push_back(alone.trainer.step());
    EXPECT_EQ(together.steps(count), wanted) << count;
    EXPECT_TRUE(together.trainer.take_losses().empty());
  }
}

TEST(TrainerLosses, AfterALoadOnlyNewOnesAreGiven) {
  const test::Threads one(1);
  Training first(small_mlp());
  first.steps(3);
  Training second(small_mlp());
  second.trainer.load(snapshot(first.trainer));
  EXPECT_TRUE(second.trainer.take_losses().empty());
  EXPECT_EQ(second.steps(2), first.steps(2));
}

TEST(TrainerSteps, EpochsAreCountedInBatches) {
  const auto source = make_dataset_source(test::stripes());  // 64 items
  TrainOptions options;
  options.steps = 123;
  options.batch = 10;
  EXPECT_EQ(total_steps(options, *source), 123);
  options.epochs = 5;
  EXPECT_EQ(total_steps(options, *source), 32);
  options.batch = 1000;
  EXPECT_EQ(total_steps(options, *source), 1);  // at least one
}

TEST(TrainerSteps, DataWithoutEndHaveNoEpochs) {
  const auto source = make_joint_source(test::random_joint(test::binary_space(2)));
  TrainOptions options;
  EXPECT_EQ(total_steps(options, *source), options.steps);
  options.epochs = 2;
  EXPECT_EQ(input_error([&] { total_steps(options, *source); }),
            "train.epochs = 2: the data are endless and have no epochs; set train.steps instead (--set "
            "train.steps=N)");
}

// Shards only divide the work: three full ones give the gradient of the whole batch, up to the order of summation.
TEST(TrainerDataset, ThreeShardsGiveTheGradientOfTheWholeBatch) {
  const test::Threads one(1);
  Experiment e = small_mlp();
  e.train.time_law = TimeLawKind::decision;
  Training fresh(e);
  const int64_t batch = e.train.batch = 3 * fresh.model.field().shard_rows();
  Training training(e);
  const double loss = training.trainer.step();
  const auto first = snapshot(training.trainer);
  const TimeLaw law(TimeLawKind::decision, fresh.model.shared_path(),
                    decision_time(fresh.model.space(), fresh.model.path()));
  const auto time = law.at(TimeLaw::uniforms({1, Purpose::training_time}, 0, batch));
  auto sample =
      sample_path(fresh.model.space(), fresh.model.path(), fresh.source->items({1, Purpose::training_data}, 0, batch),
                  time.t, {1, Purpose::training_noise}, uint64_t{0}, WithVelocity::no);
  const auto value = evaluate(fresh.model, sample, Objective::cross_entropy);
  constexpr double kRounding = 1e-6;  // relative: float32 sums of 768 items
  EXPECT_NEAR(value.loss.mean().item<double>(), loss, kRounding * loss);
  const auto& parameters = fresh.model.field().parameters();
  for (size_t k = 0; k < parameters.size(); ++k) {
    // m = (1 - beta1) g after one step.
    const auto g = first.at("adam.m." + parameters[k].first) / (1.0 - e.train.adam.beta1);
    const double size = std::max(value.gradients[k].abs().max().item<double>(), 1e-3);
    EXPECT_LT(test::max_difference(g, value.gradients[k]), 10.0 * kRounding * size) << parameters[k].first;
  }
}

}  // namespace
}  // namespace segre::trainer_dataset_test
