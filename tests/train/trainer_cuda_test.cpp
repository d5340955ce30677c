// Trainer on CUDA compared with the CPU at the same seed: the first steps run directly, the others as a replayed graph.

#include <cmath>
#include <functional>
#include <limits>

#include "segre/flow/sampler.h"
#include "segre/net/mlp.h"
#include "segre/net/residual.h"
#include "segre/net/transformer.h"
#include "segre/net/unet.h"
#include "segre/recipes/experiment.h"
#include "segre/train/trainer.h"
#include "tests/support/at_once.h"
#include "tests/support/datasets.h"
#include "tests/support/messages.h"

namespace segre::trainer_cuda_test {
namespace {

using test::contains;

constexpr int kSteps = 12;  // three run directly, nine replayed

// TF32 has 10 bits, float32 23: switched off, so that the tolerance below covers rounding and nothing else.
class FullFloat32 {
 public:
  FullFloat32()
      : convolutions_(at::globalContext().allowTF32CuDNN()), products_(at::globalContext().allowTF32CuBLAS()) {
    set(false, false);
  }
  ~FullFloat32() { set(convolutions_, products_); }
  FullFloat32(const FullFloat32&) = delete;
  FullFloat32& operator=(const FullFloat32&) = delete;

 private:
  static void set(bool convolutions, bool products) {
    at::globalContext().setAllowTF32CuDNN(convolutions);
    at::globalContext().setAllowTF32CuBLAS(products);
  }
  bool convolutions_, products_;
};

struct Case {
  std::string name;
  Experiment experiment;
  std::function<std::unique_ptr<DataSource>()> source;
  double tolerance;  // relative, of losses
};

// Sums of some 1e4 float32 in a different order differ by 1e-5 of their size; Adam's steps have the size of the
// learning rate whatever the gradient's, so a dozen of them amplify this a little.
constexpr double kFloat32 = 1e-3;
// bfloat16 has 8 bits, 4e-3, in each of a dozen layers.
constexpr double kBFloat16 = 3e-2;

Experiment mlp() {
  Experiment e;
  e.net.kind = "mlp";
  e.net.of<MlpOptions>().hidden = {32, 32};
  e.train.batch = 64;
  e.train.steps = kSteps;
  e.train.schedule = {.lr = 3e-3, .warmup = 4, .kind = ScheduleKind::cosine};
  e.train.adam.clip = 1.0;
  return e;
}

Experiment unet(NetPrecision precision) {
  Experiment e = mlp();
  e.net.kind = "unet";
  // With 32 channels a norm has one per group and removes every shift: the gradients of shifts would be pure rounding,
  // which Adam turns into steps of the full rate, different on each device.
  e.net.of<UNetOptions>().channels = 64;
  e.net.of<UNetOptions>().channel_mult = {1, 2};
  e.net.of<UNetOptions>().res_blocks = 1;
  e.net.of<UNetOptions>().attention_at = {4};
  e.net.precision = precision;
  e.train.batch = 16;
  e.train.schedule.lr = 1e-3;
  return e;
}

// Networks that are told what is known, with the same numbers dropped on both devices.
Experiment with_dropout(const std::string& kind, NetPrecision precision = NetPrecision::float32) {
  Experiment e = mlp();
  e.net.kind = kind;
  e.net.of<ResidualOptions>() = {.blocks = 2, .width = 64};
  e.net.of<TransformerOptions>() = {.layers = 2, .width = 32, .heads = 2};
  e.net.dropout = 0.25;
  e.net.precision = precision;
  e.train.evidence.kind = EvidenceKind::any;
  return e;
}

Experiment paper() {
  Experiment e = mlp();
  e.form = Form::velocity;
  e.train.objective = Objective::metric;
  e.train.time_law = TimeLawKind::uniform;
  return e;
}

std::unique_ptr<DataSource> rows_of_a_table() {
  return make_dataset_source(test::numbered_rows(test::mixed_space(), 200));
}
std::unique_ptr<DataSource> rows_with_holes() {
  Dataset rows = test::numbered_rows(test::mixed_space(), 200);
  const auto holes = test::noise(rows.labels.sizes(), 3) < -0.8;
  return make_dataset_source({.space = rows.space,
                              .labels = rows.labels.to(torch::kInt64).masked_fill(holes, kUnknown),
                              .unknowns = Unknowns::allow});
}
std::unique_ptr<DataSource> joint() { return make_joint_source(test::random_joint(test::mixed_space())); }
std::unique_ptr<DataSource> images() { return make_dataset_source(test::stripes()); }
std::unique_ptr<DataSource> mirrored() { return make_dataset_source(test::stripes(/*mirror=*/true)); }

Case table_case() { return {"mixed table", mlp(), rows_of_a_table, kFloat32}; }

std::vector<Case> cases() {
  return {table_case(),
          {"unet in float32", unet(NetPrecision::float32), images, kFloat32},
          {"unet in bfloat16", unet(NetPrecision::bfloat16), images, kBFloat16},
          {"the paper's objective", paper(), rows_of_a_table, kFloat32},
          {"labels sent at each step", mlp(), joint, kFloat32},
          {"mirrored images", mlp(), mirrored, kFloat32},
          {"residual network", with_dropout("residual"), rows_of_a_table, kFloat32},
          // A hole is filled differently only if rounding of the network meets the number that decides.
          {"rows with holes", with_dropout("residual"), rows_with_holes, kFloat32},
          {"transformer in float32", with_dropout("transformer"), rows_of_a_table, kFloat32},
          {"transformer in bfloat16", with_dropout("transformer", NetPrecision::bfloat16), rows_of_a_table, kBFloat16},
          {"transformer for images", with_dropout("transformer"), images, kFloat32}};
}

struct Training {
  std::unique_ptr<DataSource> source;
  Model model;
  Trainer trainer;

  Training(const Case& c, torch::Device device, int64_t weights_seed = 1)
      : source(c.source()),
        model(make_model(with_seed(c.experiment, weights_seed), source->space(), device)),
        // The CPU computes in float32 in any case.
        trainer(model, *source, c.experiment.train, 1,
                device.is_cuda() ? compute_type(c.experiment.net, device) : torch::kFloat32) {}

  static Experiment with_seed(Experiment e, int64_t seed) {
    e.seed = seed;
    return e;
  }
  std::vector<double> steps(int count) {
    for (int k = 0; k < count; ++k) trainer.advance();
    return trainer.take_losses();
  }
};

NamedTensors snapshot(const Trainer& trainer) {
  NamedTensors out;
  for (const auto& [name, tensor] : trainer.state()) out[name] = tensor.detach().cpu().clone();
  return out;
}

void expect_close(const std::vector<double>& found, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], wanted[k], tolerance * std::abs(wanted[k])) << k;
}

// Weights relative to how far they have moved. If an element's gradient is pure rounding, Adam takes a step of the full
// rate in either direction, so single elements may differ by as much as they moved; their norm does not.
void expect_close_weights(const NamedTensors& found, const NamedTensors& wanted, const NamedTensors& start,
                          double tolerance) {
  double apart = 0.0;
  double moved = 0.0;
  for (const auto& [name, tensor] : wanted) {
    if (!name.starts_with("weights.")) continue;
    apart += (found.at(name) - tensor).square().sum(torch::kFloat64).item<double>();
    moved += (tensor - start.at(name)).square().sum(torch::kFloat64).item<double>();
  }
  EXPECT_GT(moved, 0.0);
  EXPECT_LT(std::sqrt(apart / moved), tolerance);
}

TEST(TrainerCuda, StepsAreThoseOfTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const FullFloat32 full;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Training here(c, torch::kCPU);
    Training there(c, torch::kCUDA);
    const auto start = snapshot(here.trainer);
    expect_close(there.steps(kSteps), here.steps(kSteps), c.tolerance);
    // A tenth of the way in float32; rounding to bfloat16 flips the sign of more of the small gradients.
    expect_close_weights(snapshot(there.trainer), snapshot(here.trainer), start, c.tolerance < kBFloat16 ? 0.1 : 0.5);
    const double nats = here.trainer.nats();  // not a number for the uniform law
    EXPECT_EQ(std::isnan(there.trainer.nats()), std::isnan(nats));
    if (!std::isnan(nats)) {
      EXPECT_NEAR(there.trainer.nats(), nats, c.tolerance * nats);
    }
  }
}

TEST(TrainerCuda, ResumesWhereItStopped_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const FullFloat32 full;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Training whole(c, torch::kCUDA);
    const auto losses = whole.steps(kSteps);
    Training first(c, torch::kCUDA);
    first.steps(kSteps / 2);
    Training second(c, torch::kCUDA, /*weights_seed=*/99);
    second.trainer.load(snapshot(first.trainer));
    EXPECT_EQ(second.trainer.n_steps(), kSteps / 2);
    // The same work; newly chosen algorithms may add in a different order.
    expect_close(second.steps(kSteps / 2), {losses.begin() + kSteps / 2, losses.end()}, c.tolerance);
  }
}

// A trainer that has captured its step continues from another trainer's state: the graph reads the same memory.
TEST(TrainerCuda, LoadsAfterTheCapture_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const FullFloat32 full;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Training training(c, torch::kCUDA);
    training.steps(5);
    const auto saved = snapshot(training.trainer);
    const auto losses = training.steps(4);
    training.trainer.load(saved);
    expect_close(training.steps(4), losses, c.tolerance);
  }
}

TEST(TrainerCuda, LossesComeInTensOrOneByOne_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  Training together(table_case(), torch::kCUDA);
  Training alone(table_case(), torch::kCUDA);
  std::vector<double> wanted;
  std::vector<double> found;
  for (int k = 0; k < 3; ++k)
    for (const double loss : together.steps(10)) found.push_back(loss);
  for (int k = 0; k < 30; ++k) wanted.push_back(alone.trainer.step());
  expect_close(found, wanted, 1e-6);  // the same graph on the same numbers
  EXPECT_TRUE(together.trainer.take_losses().empty());
}

// One of them with convolutions, whose algorithms cuDNN measures in the first steps.
TEST(TrainerCuda, TwoTrainingsAndSamplesAtOnceAreEachAsAlone_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const FullFloat32 full;
  const std::vector<Case> trained{table_case(), {"unet in float32", unet(NetPrecision::float32), images, kFloat32}};
  std::vector<std::vector<double>> losses;
  for (const Case& c : trained) losses.push_back(Training(c, torch::kCUDA).steps(kSteps));
  const Training other(table_case(), torch::kCUDA);
  const auto sample = [&] { return Sampler(other.model, {}, 7).draw(0, 600).labels; };
  const auto labels = sample();
  test::at_once(4, [&](int thread) {
    if (const auto k = static_cast<size_t>(thread); k < trained.size())
      return expect_close(Training(trained[k], torch::kCUDA).steps(kSteps), losses[k], trained[k].tolerance);
    for (int k = 0; k < 5; ++k) EXPECT_TRUE(torch::equal(sample(), labels)) << k;
  });
  EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
}

TEST(TrainerCuda, ALossThatIsNoNumberIsReportedWithItsStep_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  Training training(table_case(), torch::kCUDA);
  training.steps(6);
  training.model.field().parameters()[0].second.detach().fill_(std::numeric_limits<float>::quiet_NaN());
  training.trainer.state();  // waits
  for (int k = 0; k < 4; ++k) training.trainer.advance();
  EXPECT_TRUE(contains(test::any_error([&] { training.trainer.take_losses(); }), " at step 6; a smaller train.lr"));
}

TEST(TrainerCuda, ADivergedTrainingStopsWithFiniteParameters_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (Case c : {table_case(), Case{"unet", unet(NetPrecision::bfloat16), images, kBFloat16}}) {
    SCOPED_TRACE(c.name);
    c.experiment.train.schedule = {.lr = 1e30, .warmup = 0, .kind = ScheduleKind::constant};
    Training training(c, torch::kCUDA);
    const auto message = test::any_error([&] { training.steps(20); });
    EXPECT_TRUE(contains(message, "step"));
    EXPECT_TRUE(contains(message, "a smaller train.lr"));
    const auto stopped = snapshot(training.trainer);
    for (const auto& [name, tensor] : stopped)
      EXPECT_TRUE(!name.starts_with("weights.") || tensor.isfinite().all().item<bool>()) << name;
    // Later steps change nothing.
    for (int k = 0; k < 5; ++k) training.trainer.advance();
    const auto later = snapshot(training.trainer);
    for (const auto& [name, tensor] : stopped) {
      const bool learned = name.starts_with("weights.") || name.starts_with("ema.") || name.starts_with("adam.m.");
      EXPECT_TRUE(!learned || torch::equal(later.at(name), tensor)) << name;
    }
  }
}

// The network computes with rounded copies of the learned weights.
TEST(TrainerCuda, ShortParametersFollowTheirWeights_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  Training training({"unet", unet(NetPrecision::bfloat16), images, kBFloat16}, torch::kCUDA);
  training.steps(6);
  const auto state = snapshot(training.trainer);
  int shortened = 0;
  for (const auto& [name, parameter] : training.model.field().parameters()) {
    shortened += parameter.scalar_type() == torch::kBFloat16 ? 1 : 0;
    EXPECT_TRUE(torch::equal(parameter.detach().cpu(), state.at("weights." + name).to(parameter.scalar_type())))
        << name;
  }
  EXPECT_GT(shortened, 0);
}

// A network without parameters: only the law of times is learned.
TEST(TrainerCudaTree, StepsAreThoseOfTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Case c{"tree", with_dropout("tree"), rows_of_a_table, kFloat32};
  Training here(c, torch::kCPU);
  Training there(c, torch::kCUDA);
  for (Training* training : {&here, &there}) training->model.field().fit(*training->source);
  expect_close(there.steps(kSteps), here.steps(kSteps), c.tolerance);
  EXPECT_NEAR(there.trainer.nats(), here.trainer.nats(), c.tolerance * here.trainer.nats());
}

}  // namespace
}  // namespace segre::trainer_cuda_test
