#include "segre/train/validation.h"

#include <cmath>
#include "segre/data/split.h"

#include "segre/net/latent_class.h"
#include "segre/net/net_kinds.h"
#include "segre/path/e_geodesic.h"
#include "segre/train/trainer.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::validation_test {
namespace {

constexpr uint64_t kSeed = 5;
constexpr int64_t kItems = 500;  // a last part that is shorter than the others

Model small_model(const Space& space, Form form = Form::evidence) {
  NetOptions options;
  options.kind = form == Form::evidence ? "latent_class" : "linear";
  options.of<LatentClassOptions>().classes = 8;
  return {space, make_e_geodesic(0.01), form, make_field(space, options, kSeed)};
}

// A trainer on a joint of three variables and the validation that belongs to it.
struct Training {
  JointTable table = test::random_joint(test::binary_space(3));
  std::unique_ptr<DataSource> source = make_joint_source(table);
  Trainer trainer;
  Validation validation;

  Training()
      : trainer(small_model(table.space), *source, options(), kSeed),
        validation(small_model(table.space), source->rows(0, kItems), Objective::cross_entropy, trainer.t_max()) {}

  static TrainOptions options() {
    TrainOptions options;
    options.steps = 300;
    options.batch = 256;
    options.schedule.lr = 0.05;
    return options;
  }
  void train() {
    while (trainer.n_steps() < 300) trainer.step();
  }
};

TEST(Validation, GivesTheSameNumbersEveryTime) {
  Training training;
  const auto first = training.validation(training.trainer.average());
  const auto again = training.validation(training.trainer.average());
  EXPECT_EQ(again.loss, first.loss);
  EXPECT_EQ(again.nats, first.nats);
  EXPECT_GT(first.loss, 0.0);
  EXPECT_GT(first.nats, 0.0);
}

TEST(Validation, LooksAtTheItemsWithTimesAndNoiseOfTheirOwn) {
  Training training;
  const auto found = training.validation(training.trainer.average());
  const Model model = small_model(training.table.space);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : model.field().parameters()) parameter.copy_(training.trainer.average().at(name));
  model.field().set_training(false);
  // All items at once, with validation's own streams: every item in enough rounds for 512 evaluations, in a stratum of
  // time that is drawn for it.
  const RandomStream random{0, Purpose::validation_time};
  const int64_t rounds = (512 + kItems - 1) / kItems;
  const auto u = TimeLaw::uniforms(random, 0, rounds * kItems);
  auto t = torch::empty({rounds * kItems});
  for (int64_t k = 0; k < rounds * kItems; ++k)
    t[k] = u[k / kItems * kItems + shuffled(random, 0, k % kItems, kItems)] * training.trainer.t_max();
  const auto sample = sample_path(model.space(), model.path(), training.source->rows(0, kItems).repeat({rounds, 1}), t,
                                  {0, Purpose::validation_noise}, 0, WithVelocity::no);
  const auto value = evaluate(model, sample, Objective::cross_entropy);
  EXPECT_NEAR(found.loss, value.loss.mean().item<double>(), 1e-5);
  const double t1 = decision_time(model.space(), model.path());
  const auto information = information_rate(model.path().at(t)) * value.error * (t < t1);
  EXPECT_NEAR(found.nats, training.trainer.t_max() * information.mean().item<double>(), 1e-4);
}

TEST(Validation, TheNumberOfThreadsChangesNoBit) {
  Training training;
  const auto alone = training.validation(training.trainer.average());
  const test::Threads two(2);
  const auto shared = training.validation(training.trainer.average());
  EXPECT_EQ(shared.loss, alone.loss);
  EXPECT_EQ(shared.nats, alone.nats);
}

TEST(Validation, IsLowerForWeightsThatHaveLearned) {
  Training training;
  const auto fresh = training.validation(training.trainer.average());
  training.train();
  const auto learned = training.validation(training.trainer.average());
  EXPECT_LT(learned.loss, 0.95 * fresh.loss);
  EXPECT_LT(learned.nats, fresh.nats);
}

TEST(Validation, NatsOfALearnedModelAreThoseOfTheItems) {
  Training training;
  training.train();
  const auto found = training.validation(training.trainer.average());
  // -log p of exactly the items it evaluates.
  const auto labels = training.source->rows(0, kItems);
  const auto index = (labels * torch::tensor({4, 2, 1}, torch::kInt64)).sum(1);
  const double wanted = -training.table.p.log().index_select(0, index).mean().item<double>();
  // One time per item: the integrand varies along the path by about its mean, 2 nats, which averages out to
  // 2 / sqrt(500) = 0.09 and less if times are stratified. Three of these.
  EXPECT_NEAR(found.nats, wanted, 0.27);
}

// Half of the items take hardly any nats, half take many, in three orders: the order decides only the times and the
// noise that an item gets.
TEST(Validation, TheOrderOfTheItemsChangesNothingButTheNoise) {
  const Space space = test::binary_space(3);
  const auto p = torch::tensor({0.93, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01}, torch::kFloat64);
  const auto source = make_joint_source(make_joint_table(space, enumerate_labelings(space), p));
  Trainer trainer(small_model(space), *source, Training::options(), kSeed);
  while (trainer.n_steps() < 300) trainer.step();

  const auto number = torch::cat({torch::zeros({300}, torch::kInt64), torch::arange(300).remainder(7) + 1});
  const auto labels = enumerate_labelings(space).index_select(0, number);
  const auto mixed = torch::arange(600).view({2, 300}).t().flatten();
  const auto in_order = [&](const torch::Tensor& rows) {
    Validation validation(small_model(space), rows, Objective::cross_entropy, trainer.t_max());
    return validation(trainer.average());
  };
  const auto rising = in_order(labels);
  EXPECT_GT(rising.nats_error, 0.02);
  EXPECT_LT(rising.nats_error, 0.5);  // a spread of at most 12 nats over 600 items
  for (const auto& found : {in_order(labels.flip(0)), in_order(labels.index_select(0, mixed))}) {
    EXPECT_NEAR(found.nats, rising.nats, 3.0 * std::hypot(found.nats_error, rising.nats_error));
    EXPECT_NEAR(found.loss, rising.loss, 0.3 * rising.loss);
  }
}

// Few items are evaluated at several times each, so that their nats do not depend on a few times.
TEST(Validation, AFewItemsAreSeenAtManyTimes) {
  Training training;
  training.train();
  const auto labels = training.source->rows(0, 4);
  const auto nats_of = [&](const torch::Tensor& rows) {
    Validation validation(small_model(training.table.space), rows, Objective::cross_entropy, training.trainer.t_max());
    return validation(training.trainer.average());
  };
  const auto index = (labels * torch::tensor({4, 2, 1}, torch::kInt64)).sum(1);
  const auto log_p = training.table.p.log().index_select(0, index);
  const auto together = nats_of(labels);
  // 512 evaluations: 2 nats / sqrt(512), three of these.
  EXPECT_NEAR(together.nats, -log_p.mean().item<double>(), 0.27);
  EXPECT_NEAR(nats_of(labels.flip(0)).nats, together.nats, 0.27);
  EXPECT_GT(together.nats_error, 0.0);
  EXPECT_TRUE(std::isnan(nats_of(labels.slice(0, 0, 1)).nats_error)) << "one item has no spread";
}

TEST(Validation, LeavesTheTrainerAlone) {
  Training watched;
  Training unwatched;
  for (int k = 0; k < 4; ++k) {
    watched.trainer.step();
    unwatched.trainer.step();
    watched.validation(watched.trainer.average());
  }
  const auto state = unwatched.trainer.state();
  for (const auto& [name, tensor] : watched.trainer.state()) EXPECT_TRUE(torch::equal(tensor, state.at(name))) << name;
  EXPECT_EQ(watched.trainer.step(), unwatched.trainer.step());
}

TEST(Validation, ServesTheMetricObjective) {
  const auto source = make_joint_source(test::random_joint(test::binary_space(3)));
  const Model model = small_model(source->space(), Form::velocity);
  Validation validation(model, source->rows(0, 64), Objective::metric, 1.0);
  NamedTensors weights;
  for (const auto& [name, weight] : model.field().parameters()) weights[name] = weight.detach().clone();
  const auto found = validation(weights);
  EXPECT_TRUE(std::isfinite(found.loss) && std::isfinite(found.nats));
  for (auto& [name, weight] : weights) weight.mul_(100.0);
  EXPECT_GT(validation(weights).loss, 10.0 * found.loss);
}

TEST(Validation, RefusesItemsThatAreNotOfTheSpace) {
  const Space space = test::binary_space(3);
  const auto refusal = [&](const torch::Tensor& labels) {
    return test::input_error([&] { Validation(small_model(space), labels, Objective::cross_entropy, 1.0); });
  };
  EXPECT_EQ(refusal(torch::full({4, 3}, 2, torch::kInt64)), "item 0, variable x1: label 2 where 0 to 1 was expected");
  EXPECT_EQ(refusal(torch::zeros({0, 3}, torch::kInt64)), "validation needs held-out items, found none");
}

}  // namespace
}  // namespace segre::validation_test
