// Trainer: a step is a function of its number and the state, for every kind of network and time law.

#include "segre/net/latent_class.h"
#include "segre/net/mlp.h"
#include "segre/net/net_kinds.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/recipes/experiment.h"
#include "segre/train/trainer.h"
#include "tests/support/messages.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::trainer_resume_test {
namespace {

using test::contains;
using test::input_error;
using test::ScratchFolder;
using test::Threads;

// A training so small that a step takes no time.
Experiment tiny(const std::string& net, TimeLawKind law) {
  Experiment e;
  e.net.kind = net;
  e.net.of<MlpOptions>().hidden = {8};
  e.net.of<LatentClassOptions>().classes = 4;
  e.net.of<ResidualOptions>() = {.blocks = 2, .width = 8};
  e.net.of<TransformerOptions>() = {.layers = 2, .width = 8, .heads = 2};
  e.net.dropout = 0.25;  // of those that have it
  e.net.time_features = 2;
  e.form = net == "linear" ? Form::endpoint : Form::evidence;
  e.train.time_law = law;
  e.train.batch = 32;
  e.train.steps = 8;
  e.train.schedule = {.lr = 0.02, .warmup = 3, .kind = ScheduleKind::cosine};
  return e;
}

// A model and its trainer on an uneven joint of three variables.
struct Training {
  std::unique_ptr<DataSource> source;
  Model model;
  Trainer trainer;

  explicit Training(const Experiment& e, uint64_t seed = 1, uint64_t weights = 1)
      : source(make_joint_source(test::random_joint(Space::table({{"a", 2, {}}, {"b", 3, {}}, {"c", 2, {}}})))),
        model(source->space(), make_path(e.path), e.form, make_field(source->space(), e.net, weights)),
        trainer(model, *source, e.train, seed) {}

  std::vector<double> steps(int count) {
    std::vector<double> losses;
    for (int k = 0; k < count; ++k) losses.push_back(trainer.step());
    return losses;
  }
};

// Everything a checkpoint holds, as values that later steps do not change.
NamedTensors snapshot(const Trainer& trainer) {
  NamedTensors out;
  for (const auto& [name, tensor] : trainer.state()) out[name] = tensor.detach().clone();
  return out;
}

void expect_same_bits(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  // NaN counts as equal to NaN: a diverged training has them.
  for (const auto& [name, tensor] : wanted)
    EXPECT_TRUE(torch::allclose(found.at(name), tensor, /*rtol=*/0, /*atol=*/0, /*equal_nan=*/true)) << name;
}

// Half of the steps, a checkpoint file, and the other half in a fresh trainer whose weights start elsewhere.
void expect_resumes_to_the_same_bits(const Experiment& e) {
  Training whole(e);
  const auto losses = whole.steps(8);
  const ScratchFolder folder;
  {
    Training first(e);
    first.steps(4);
    write_safetensors(folder / "half", first.trainer.state());
  }
  Training second(e, /*seed=*/1, /*weights=*/99);
  second.trainer.load(read_safetensors(folder / "half"));
  EXPECT_EQ(second.trainer.n_steps(), 4);
  EXPECT_EQ(second.steps(4), std::vector<double>(losses.begin() + 4, losses.end()));
  expect_same_bits(snapshot(second.trainer), snapshot(whole.trainer));
}

const char* const kNets[] = {"linear", "mlp", "latent_class", "tree", "residual", "transformer"};
constexpr TimeLawKind kLaws[] = {TimeLawKind::uniform, TimeLawKind::decision, TimeLawKind::information};

TEST(TrainerResume, GivesTheSameBitsForEveryNetAndTimeLaw) {
  const Threads one(1);
  for (const std::string net : kNets)
    for (const TimeLawKind law : kLaws) {
      SCOPED_TRACE(concat("net ", net, ", law ", static_cast<int>(law)));
      expect_resumes_to_the_same_bits(tiny(net, law));
    }
}

TEST(TrainerResume, GivesTheSameBitsOnATree) {
  const Threads one(1);
  Experiment e = tiny("residual", TimeLawKind::information);
  e.net.of<ResidualOptions>().tree = true;
  expect_resumes_to_the_same_bits(e);
}

TEST(TrainerResume, GivesTheSameBitsWithBatchNorm) {
  const Threads one(1);
  for (const TimeLawKind law : kLaws) {
    Experiment e = tiny("mlp", law);
    e.net.of<MlpOptions>().batch_norm = true;
    expect_resumes_to_the_same_bits(e);
  }
}

TEST(TrainerResume, GivesTheSameBitsInThePapersForm) {
  const Threads one(1);
  Experiment e = tiny("mlp", TimeLawKind::uniform);
  e.form = Form::velocity;
  e.train.objective = Objective::metric;
  expect_resumes_to_the_same_bits(e);
}

TEST(TrainerResume, GivesTheSameBitsOnTwoThreads) {
  const Threads two(2);
  for (const std::string net : {"mlp", "residual", "transformer"})
    expect_resumes_to_the_same_bits(tiny(net, TimeLawKind::information));
}

// What a network has learned in a few steps depends on what was dropped.
TEST(TrainerResume, DropoutChangesWhatIsLearned) {
  const Threads one(1);
  for (const std::string net : {"residual", "transformer"}) {
    Experiment e = tiny(net, TimeLawKind::information);
    Training dropping(e);
    e.net.dropout = 0.0;
    Training whole(e);
    // Branches start at 0, where dropping changes nothing.
    EXPECT_EQ(dropping.steps(1), whole.steps(1)) << net;
    EXPECT_NE(dropping.steps(4), whole.steps(4)) << net;
  }
}

TEST(TrainerResume, ATreeLearnsTheLawOfTimesAlone) {
  const Threads one(1);
  Training training(tiny("tree", TimeLawKind::information));
  const auto before = snapshot(training.trainer);
  training.steps(3);
  for (const auto& [name, tensor] : snapshot(training.trainer))
    EXPECT_EQ(torch::equal(tensor, before.at(name)), name.starts_with("buffers.")) << name;
}

TEST(TrainerResume, TheSeedDecidesEveryBit) {
  const Threads one(1);
  const Experiment e = tiny("mlp", TimeLawKind::information);
  Training first(e);
  Training same(e);
  Training other(e, /*seed=*/2);
  const auto losses = first.steps(5);
  EXPECT_EQ(same.steps(5), losses);
  expect_same_bits(snapshot(same.trainer), snapshot(first.trainer));
  EXPECT_NE(other.steps(5), losses);
}

TEST(TrainerResume, AfterADivergedStepTheParametersAreThoseBeforeIt) {
  const Threads one(1);
  Experiment e = tiny("mlp", TimeLawKind::decision);
  e.train.schedule = {.lr = 1e38, .warmup = 0, .kind = ScheduleKind::constant};
  Training training(e);
  std::string message;
  NamedTensors before;
  while (message.empty() && training.trainer.n_steps() < 20) {
    before = snapshot(training.trainer);
    message = test::any_error([&] { training.trainer.step(); });
  }
  EXPECT_TRUE(contains(message, concat(" at step ", training.trainer.n_steps(), "; a smaller train.lr may help")));
  expect_same_bits(snapshot(training.trainer), before);
}

TEST(TrainerResume, AnyParameterThatIsNoNumberIsNoticed) {
  const Threads one(1);
  const Experiment e = tiny("mlp", TimeLawKind::decision);
  const size_t count = Training(e).model.field().parameters().size();
  for (size_t k = 0; k < count; ++k) {
    Training training(e);
    training.steps(2);  // the last layer starts at 0 and lets nothing through until then
    const auto& [name, parameter] = training.model.field().parameters()[k];
    parameter.detach().fill_(std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(contains(test::any_error([&] { training.trainer.step(); }), "nan at step 2;")) << name;
  }
}

TEST(TrainerResume, CrossEntropyOfAVelocityIsRefused) {
  Experiment e = tiny("mlp", TimeLawKind::uniform);
  e.form = Form::velocity;
  EXPECT_EQ(
      input_error([&] { Training training(e); }),
      "train.objective = \"cross_entropy\" needs model.form = \"endpoint\" or \"evidence\": the velocity form has "
      "no label logits");
}

TEST(TrainerResume, ABatchThatDoesNotFitIsRefusedBeforeItIsMade) {
  Experiment e = tiny("mlp", TimeLawKind::uniform);
  e.train.batch = 1'000'000'000'000;
  const auto message = input_error([&] { Training training(e); });
  EXPECT_TRUE(
      contains(message, "a batch of 1000000000000 items of the table of 3 variables with 2 to 3 labels needs "));
  EXPECT_TRUE(contains(message, " are free on cpu"));
}

TEST(TrainerResume, ACheckpointOfAnotherNetworkIsRefused) {
  Experiment e = tiny("mlp", TimeLawKind::uniform);
  Training small(e);
  e.net.of<MlpOptions>().hidden = {9};
  Training large(e);
  EXPECT_TRUE(contains(input_error([&] { large.trainer.load(small.trainer.state()); }), "the checkpoint's tensor "));
  e.net.kind = "latent_class";
  Training other(e);
  EXPECT_TRUE(
      contains(input_error([&] { other.trainer.load(small.trainer.state()); }), "the checkpoint has no tensor "));
}

// Several shards, the last one shorter; sums over the batch must be taken in one order whichever thread does the work.
TEST(TrainerResume, TheNumberOfThreadsChangesNoBit) {
  for (const std::string net : {"mlp", "latent_class", "tree", "residual", "transformer"}) {
    SCOPED_TRACE(net);
    Experiment e = tiny(net, TimeLawKind::information);
    e.train.batch = 700;
    NamedTensors wanted;
    {
      const Threads one(1);
      Training training(e);
      training.steps(5);
      wanted = snapshot(training.trainer);
    }
    const Threads two(2);
    Training training(e);
    training.steps(5);
    expect_same_bits(snapshot(training.trainer), wanted);
  }
}

// Shards only divide the work: the gradient is that of the whole batch, up to the order of summation.
TEST(TrainerResume, ShardsGiveTheGradientOfTheWholeBatch) {
  Experiment e = tiny("latent_class", TimeLawKind::decision);
  e.train.batch = 700;
  Training training(e);
  const double loss = training.steps(1).front();
  const auto first = snapshot(training.trainer);
  // The same first step by hand: m = (1 - beta1) g after one step.
  Training fresh(e);
  const TimeLaw law(TimeLawKind::decision, fresh.model.shared_path(),
                    decision_time(fresh.model.space(), fresh.model.path()));
  const auto labels = fresh.source->items({1, Purpose::training_data}, 0, 700);
  const auto time = law.at(TimeLaw::uniforms({1, Purpose::training_time}, 0, 700));
  const auto sample = sample_path(fresh.model.space(), fresh.model.path(), labels, time.t, {1, Purpose::training_noise},
                                  0, WithVelocity::no);
  const auto value = evaluate(fresh.model, sample, Objective::cross_entropy);
  constexpr double kRounding = 1e-5;  // float32 sums of 700 items of size 1
  EXPECT_NEAR(value.loss.mean().item<double>(), loss, kRounding);
  const auto& parameters = fresh.model.field().parameters();
  for (size_t k = 0; k < parameters.size(); ++k) {
    const auto g = first.at("adam.m." + parameters[k].first) / (1.0 - e.train.adam.beta1);
    EXPECT_LT(test::max_difference(g, value.gradients[k]), kRounding) << parameters[k].first;
  }
}

}  // namespace
}  // namespace segre::trainer_resume_test
