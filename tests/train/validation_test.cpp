#include "segre/train/validation.h"

#include <cmath>

#include "segre/train/trainer.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre {
namespace {

constexpr uint64_t kSeed = 5;
constexpr int64_t kItems = 500;  // a last part that is shorter than the others

Model small_model(const Space& space, Form form = Form::evidence) {
  NetOptions options;
  options.kind = form == Form::evidence ? NetKind::latent_class : NetKind::linear;
  options.classes = 8;
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
  // -log p of the very items it looks at.
  const auto labels = training.source->rows(0, kItems);
  const auto index = (labels * torch::tensor({4, 2, 1}, torch::kInt64)).sum(1);
  const double wanted = -training.table.p.log().index_select(0, index).mean().item<double>();
  // One time per item: the integrand varies along the path by about its mean, 2 nats, which averages out to
  // 2 / sqrt(500) = 0.09 and less where times are stratified. Three of these.
  EXPECT_NEAR(found.nats, wanted, 0.27);
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

}  // namespace
}  // namespace segre
