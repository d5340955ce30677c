#include "segre/train/trainer.h"
#include "segre/net/latent_class.h"
#include "segre/net/net_kinds.h"
#include "segre/path/e_geodesic.h"

#include <cmath>
#include <limits>

#include "tests/support/reference.h"
#include "tests/support/threads.h"

namespace segre::trainer_test {
namespace {

using test::max_difference;

constexpr uint64_t kSeed = 5;

TrainOptions short_run() {
  TrainOptions options;
  options.steps = 300;
  options.batch = 256;
  options.schedule.lr = 0.05;
  return options;
}

Model small_model(const Space& space, Form form = Form::evidence) {
  NetOptions options;
  options.kind = form == Form::evidence ? "latent_class" : "linear";
  options.of<LatentClassOptions>().classes = 4;
  return {space, make_e_geodesic(0.01), form, make_field(space, options, kSeed)};
}

NamedTensors copy_of(const NamedTensors& state) {
  NamedTensors out;
  for (const auto& [name, tensor] : state) out[name] = tensor.detach().clone();
  return out;
}

void expect_same(const NamedTensors& x, const NamedTensors& y) {
  ASSERT_EQ(x.size(), y.size());
  for (const auto& [name, tensor] : x) EXPECT_TRUE(torch::equal(tensor, y.at(name))) << name;
}

TEST(Trainer, LowersTheLoss) {
  const test::Threads one_thread(1);
  const auto source = make_joint_source(test::random_joint(test::binary_space(3)));
  Trainer trainer(small_model(source->space()), *source, short_run(), kSeed);
  const double first = trainer.step();
  while (trainer.n_steps() < 250) trainer.step();
  double last = 0.0;
  while (trainer.n_steps() < 300) last += trainer.step() / 50;
  EXPECT_LT(last, 0.9 * first);
}

TEST(Trainer, ResumesToTheSameBits) {
  const test::Threads one_thread(1);
  const auto source = make_joint_source(test::random_joint(test::binary_space(3)));
  Trainer whole(small_model(source->space()), *source, short_run(), kSeed);
  for (int k = 0; k < 5; ++k) whole.step();
  const auto saved = copy_of(whole.state());
  for (int k = 0; k < 5; ++k) whole.step();
  Trainer resumed(small_model(source->space()), *source, short_run(), kSeed);
  resumed.load(saved);
  EXPECT_EQ(resumed.n_steps(), 5);
  for (int k = 0; k < 5; ++k) resumed.step();
  expect_same(resumed.state(), whole.state());
}

TEST(Trainer, StateHasWeightsAveragesMomentsAndTimes) {
  const test::Threads one_thread(1);
  const auto source = make_joint_source(test::random_joint(test::binary_space(3)));
  Trainer trainer(small_model(source->space()), *source, short_run(), kSeed);
  const auto state = trainer.state();
  for (const char* name : {"weights.class_logits", "weights.label_logits", "ema.label_logits", "adam.m.label_logits",
                           "adam.v.class_logits", "adam.step", "time_law.sum", "time_law.mass"})
    EXPECT_EQ(state.count(name), 1u) << name;
}

TEST(Trainer, SeedsMatter) {
  const test::Threads one_thread(1);
  const auto source = make_joint_source(test::random_joint(test::binary_space(3)));
  Trainer one(small_model(source->space()), *source, short_run(), 1);
  Trainer two(small_model(source->space()), *source, short_run(), 2);
  EXPECT_NE(one.step(), two.step());
}

TEST(Trainer, LoadsLastOrAveragedWeightsIntoAField) {
  const test::Threads one_thread(1);
  const auto source = make_joint_source(test::random_joint(test::binary_space(3)));
  Trainer trainer(small_model(source->space()), *source, short_run(), kSeed);
  for (int k = 0; k < 5; ++k) trainer.step();
  const auto state = copy_of(trainer.state());
  const auto fresh = small_model(source->space());
  load_weights(fresh.field(), state, /*averaged=*/false);
  EXPECT_TRUE(torch::equal(fresh.field().parameters()[1].second.detach(), state.at("weights.label_logits")));
  load_weights(fresh.field(), state, /*averaged=*/true);
  EXPECT_TRUE(torch::equal(fresh.field().parameters()[1].second.detach(), state.at("ema.label_logits")));
  EXPECT_GT(max_difference(state.at("ema.label_logits"), state.at("weights.label_logits")), 1e-4);
  EXPECT_EQ(test::input_error([&] { load_weights(fresh.field(), {}, true); }),
            "the checkpoint has no tensor ema.class_logits");
}

TEST(Trainer, StopsAtALossThatIsNoNumberAndTouchesNothing) {
  const test::Threads one_thread(1);
  const auto source = make_joint_source(test::random_joint(test::binary_space(3)));
  const auto model = small_model(source->space());
  Trainer trainer(model, *source, short_run(), kSeed);
  trainer.step();
  {
    const torch::NoGradGuard no_grad;
    model.field().parameters()[0].second.fill_(std::numeric_limits<float>::quiet_NaN());
  }
  const auto before = copy_of(trainer.state());
  try {
    trainer.step();
    FAIL() << "a step with weights that are no numbers";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("at step 1"), std::string::npos) << error.what();
  }
  EXPECT_EQ(trainer.n_steps(), 1);
  EXPECT_TRUE(torch::equal(trainer.state().at("weights.label_logits"), before.at("weights.label_logits")));
  EXPECT_TRUE(torch::equal(trainer.state().at("time_law.sum"), before.at("time_law.sum")));
}

TEST(Trainer, RefusesWhatCannotWork) {
  const test::Threads one_thread(1);
  const auto source = make_joint_source(test::random_joint(test::binary_space(3)));
  EXPECT_NE(
      test::input_error([&] { Trainer(small_model(source->space(), Form::velocity), *source, short_run(), kSeed); }),
      "");
  auto huge = short_run();
  huge.batch = int64_t{1} << 50;
  const auto message = test::input_error([&] { Trainer(small_model(source->space()), *source, huge, kSeed); });
  EXPECT_NE(message.find("a batch of 1125899906842624 items"), std::string::npos) << message;
}

// A user-defined source whose items always have the same labels.
class SameItems final : public DataSource {
 public:
  SameItems(Space space, torch::Tensor item) : space_(std::move(space)), item_(std::move(item)) {}
  const Space& space() const override { return space_; }
  int64_t n_items() const override { return 0; }
  torch::Tensor rows(int64_t, int64_t count) const override { return item_.expand({count, item_.size(0)}); }
  torch::Tensor items(const RandomStream&, uint64_t first, int64_t count) const override {
    return rows(static_cast<int64_t>(first), count);
  }

 private:
  Space space_;
  torch::Tensor item_;
};

TEST(Trainer, LooksAtTheItemsOfAProgramsOwnSource) {
  const test::Threads one_thread(1);
  const Space space = Space::table({{"a", 3, {}}, {"b", 2, {}}});
  const auto refusal = [&](const torch::Tensor& item) {
    const SameItems source(space, item);
    Trainer trainer(small_model(space), source, short_run(), kSeed);
    return test::input_error([&] { trainer.step(); });
  };
  EXPECT_EQ(refusal(torch::tensor({2, 1}, torch::kInt64)), "");
  EXPECT_EQ(refusal(torch::tensor({2, 7}, torch::kInt64)), "item 0, variable b: label 7 where 0 to 1 was expected");
  EXPECT_EQ(refusal(torch::tensor({0, 1, 1}, torch::kInt64)),
            "labels must be int64 of shape [items, 2], found long int of shape [256, 3]");
  EXPECT_EQ(refusal(torch::tensor({0, 1}, torch::kInt32)),
            "labels must be int64 of shape [items, 2], found int of shape [256, 2]");
}

TEST(Trainer, RefusesDataOfAnotherSpaceThanTheModels) {
  const Space space = Space::table({{"a", 3, {}}, {"b", 2, {}}});
  const auto refusal = [&](const Space& data, int64_t batch = 256) {
    const SameItems source(data, torch::zeros({data.n_variables()}, torch::kInt64));
    auto options = short_run();
    options.batch = batch;
    return test::input_error([&] { Trainer(small_model(space), source, options, kSeed); });
  };
  EXPECT_EQ(refusal(test::binary_space(3)), "the data have 3 variables, the model 2");
  EXPECT_EQ(refusal(Space::table({{"a", 3, {}}, {"b", 4, {}}})),
            "variable b has 4 labels in the data and 2 in the model");
  EXPECT_EQ(refusal(space, 0), "train.batch = 0: expected at least 1");
}

}  // namespace
}  // namespace segre::trainer_test
