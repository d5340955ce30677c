// What a score depends on: the item and the seed, nothing else.

#include "segre/likelihood/flow_bound.h"
#include "segre/likelihood/free_bound.h"
#include "segre/net/unet.h"
#include "segre/path/e_geodesic.h"
#include "segre/recipes/experiment.h"
#include "tests/support/at_once.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

namespace segre::scores_test {
namespace {

// A small UNet without zero weights at its end, in float32.
Model image_model(torch::Device device = torch::kCPU) {
  Experiment recipe;
  recipe.net.kind = "unet";
  recipe.net.of<UNetOptions>().channels = 32;
  recipe.net.of<UNetOptions>().channel_mult = {1, 1};
  recipe.net.of<UNetOptions>().res_blocks = 1;
  recipe.net.of<UNetOptions>().attention_at = {4};
  Model model = make_model(recipe, Space::image(8, 8, 2), device);
  const torch::NoGradGuard no_grad;
  uint64_t seed = 1;
  for (const auto& [name, parameter] : model.field().parameters())
    parameter.add_(test::noise(parameter.sizes(), ++seed, torch::kFloat32).to(device), 0.05);
  return model;
}

constexpr double kTol = 1e-6;  // relative; the requirement on float32 scores

void expect_equal(const torch::Tensor& alone, const torch::Tensor& together) {
  EXPECT_LT(((alone - together) / together).abs().max().item<double>(), kTol);
}

TEST(Scores, AreTheSameAloneAndInABatchOf64) {
  const Flow flow = flow_of(image_model());
  const auto labels = test::some_labels(flow.space, 64);
  const FreeBound free(flow, TimeDensity(1.0), {.times = 8});
  const FlowBound path(flow, {.trace = {.kind = TraceKind::hutchinson}, .draws = 2, .panels = 1});
  const auto all_free = free(labels);
  const auto few = labels.slice(0, 0, 3);
  const auto all_path = mean_of_weights(path(few));
  for (const int64_t k : {0, 17, 63}) {
    const auto one = labels.narrow(0, k, 1);
    expect_equal(free(one).log_p, all_free.log_p.narrow(0, k, 1));
    expect_equal(free(one).std_error, all_free.std_error.narrow(0, k, 1));
  }
  expect_equal(mean_of_weights(path(few.narrow(0, 1, 1))).log_p, all_path.log_p.narrow(0, 1, 1));
}

TEST(Scores, AreTheSameBitsOnOneAndTwoThreads) {
  const Flow flow = flow_of(image_model());
  const auto labels = test::some_labels(flow.space, 5);
  const FreeBound bound(flow, TimeDensity(1.0), {.times = 8});
  torch::Tensor one;
  {
    const test::Threads threads(1);
    one = bound(labels).log_p;
  }
  const test::Threads threads(2);
  EXPECT_TRUE(torch::equal(bound(labels).log_p, one));
}

TEST(Scores, CudaAgreesWithTheCpuAndWithItself_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  at::globalContext().setAllowTF32CuDNN(false);
  const Flow on_cpu = flow_of(image_model());
  const Flow on_gpu = flow_of(image_model(torch::kCUDA));
  const auto labels = test::some_labels(on_cpu.space, 64);
  const FreeBound free(on_gpu, TimeDensity(1.0), {.times = 8});
  const auto all = free(labels);
  // Sums over 64 pixels in a different order, through a network whose float32 errors are about 1e-6.
  const auto reference = FreeBound(on_cpu, TimeDensity(1.0), {.times = 8})(labels).log_p;
  EXPECT_LT(((all.log_p - reference) / reference).abs().max().item<double>(), 1e-4);
  expect_equal(free(labels.narrow(0, 17, 1)).log_p, all.log_p.narrow(0, 17, 1));
  for (const TraceKind kind : {TraceKind::exact, TraceKind::hutchinson}) {
    const FlowBoundOptions options{.trace = {.kind = kind}, .draws = 2, .panels = 1};
    const auto few = labels.slice(0, 0, 3);
    const auto there = FlowBound(on_gpu, options)(few).values;
    const auto here = FlowBound(on_cpu, options)(few).values;
    EXPECT_LT((there - here).abs().max().item<double>(), 0.02);  // 15 traces of 64 derivatives each, summed
    expect_equal(FlowBound(on_gpu, options)(few.narrow(0, 1, 1)).values, there.narrow(0, 1, 1));
  }
}

// Some of the threads share the bounds, with their graphs and derivatives; the others make their own.
TEST(Scores, SeveralThreadsAtOnceGetTheScoresOfOne_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  at::globalContext().setAllowTF32CuDNN(false);
  const Flow flow = flow_of(image_model(torch::kCUDA));
  const auto labels = test::some_labels(flow.space, 64);
  const auto few = labels.slice(0, 0, 2);
  const FlowBoundOptions options{.trace = {.kind = TraceKind::hutchinson}, .draws = 2, .panels = 1};
  const FreeBound free(flow, TimeDensity(1.0), {.times = 8});
  const FlowBound path(flow, options);
  const auto all = free(labels).log_p;
  const auto weights = path(few).values;
  test::at_once(4, [&](int thread) {
    for (int k = 0; k < 2; ++k) {
      const bool own = thread % 2 == 1;
      expect_equal(own ? FreeBound(flow, TimeDensity(1.0), {.times = 8})(labels).log_p : free(labels).log_p, all);
      expect_equal(own ? FlowBound(flow, options)(few).values : path(few).values, weights);
    }
  });
}

TEST(Scores, SeedsOfItemsDependOnLabelsAndSeed) {
  const auto labels = torch::tensor({{0, 1, 0}, {1, 0, 0}, {0, 1, 0}}, torch::kInt64);
  const auto seeds = item_seeds(labels, 1);
  EXPECT_EQ(seeds[0], seeds[2]);
  EXPECT_NE(seeds[0], seeds[1]);
  EXPECT_NE(seeds[0], item_seeds(labels, 2)[0]);
}

TEST(Scores, ReportedErrorsAreTheScatterOverSeeds) {
  const JointOracle oracle(test::random_joint(test::binary_space(3), 7), make_e_geodesic(0.01));
  const auto label = oracle.table().labelings.narrow(0, 3, 1);
  std::vector<double> values;
  double variance = 0.0;
  constexpr int kSeeds = 400;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const FreeBound bound(flow_of(oracle), TimeDensity(1.0), {.times = 16, .seed = static_cast<uint64_t>(seed)});
    const auto score = bound(label);
    values.push_back(score.log_p.item<double>());
    variance += score.std_error.square().item<double>() / kSeeds;
  }
  const auto all = torch::tensor(values, torch::kFloat64);
  // The variance of heavy-tailed values from 400 of them is known to about a fifth.
  EXPECT_NEAR(variance / all.var().item<double>(), 1.0, 0.5);
}

TEST(FreeBound, EveryDensityOfTimesGivesTheSameBound) {
  const JointOracle oracle(test::random_joint(test::binary_space(3), 7), make_e_geodesic(0.01));
  const auto labels = enumerate_labelings(oracle.space());
  const auto late = torch::arange(64, torch::kFloat64);
  for (const TimeDensity& density : {TimeDensity(0.4), TimeDensity(0.6, late), TimeDensity(0.6, 63.0 - late)}) {
    const auto scores = FreeBound(flow_of(oracle), density, {.times = 4096})(labels);
    const double error = std::sqrt(scores.std_error.square().sum().item<double>()) / 8.0;
    EXPECT_NEAR((scores.log_p - oracle.log_p(labels)).mean().item<double>(), 0.0, 5.0 * error);
  }
}

TEST(FreeBound, RefusesWhatItCannotDo) {
  const JointOracle oracle(test::random_joint(test::binary_space(2)), make_e_geodesic(0.01));
  const Flow flow = flow_of(oracle);
  EXPECT_EQ(test::input_error([&] { FreeBound(flow, TimeDensity(1.0), {.times = 6}); }),
            "times = 6: expected a multiple of 4");
  EXPECT_EQ(test::input_error([&] { FreeBound(flow, TimeDensity(1.0), {.t1 = 1.0}); }),
            "t1 = 1: expected a time between 0 and the path's end, 1");
  EXPECT_EQ(test::input_error([&] { FlowBound(flow, {.draws = 0}); }), "draws = 0: expected at least 1");
}

}  // namespace
}  // namespace segre::scores_test
