// A run's samplers follow the network in the type it was trained in, if the run says so.

#include "segre/runs/sampling_flow.h"

#include "segre/flow/sampler.h"
#include "segre/net/residual.h"
#include "segre/path/path_sample.h"
#include "tests/runs/trained.h"

namespace segre::sampling_flow_test {
namespace {

// A residual network on a known joint distribution.
LoadedRun residual_run(const test::ScratchFolder& folder, SamplePrecision precision) {
  Experiment e = test::tiny_experiment();
  e.net.kind = "residual";
  e.net.of<ResidualOptions>() = {.blocks = 2, .width = 64};
  e.train.steps = 60;
  e.sample.precision = precision;
  return load_run(test::train_into(folder / "run", e), torch::kCPU);
}

State some_state(const Flow& flow) {
  const auto v = reference_noise(flow.space, {1, Purpose::probe}, 0, 256, flow.options);
  return {v, torch::full({256}, 0.2, flow.options)};
}

TEST(SamplingFlow, ComputesAsTheNetworkWasTrained) {
  const test::ScratchFolder folder;
  const LoadedRun run = residual_run(folder, SamplePrecision::trained);
  const torch::NoGradGuard no_grad;
  const Flow loaded = flow_of(run.model);
  const Flow flow = sampling_flow(run);
  const State state = some_state(flow);
  EXPECT_TRUE(torch::equal(flow.log_marginals(state), loaded.log_marginals(state))) << "marginals as loaded";
  const auto difference = (flow.endpoint(state) - loaded.endpoint(state)).abs().max().item<double>();
  const bool reduced = training_type(run.experiment.net, torch::kCPU) != torch::kFloat32;
  EXPECT_EQ(difference > 0.0, reduced);
  EXPECT_LT(difference, 0.2) << "of corners five apart; bfloat16 has 8 bits";
  const auto samples = [&](const Flow& followed) { return Sampler(followed, {}, 3).draw(0, 4000).labels; };
  const auto differ = (samples(flow) != samples(loaded)).to(torch::kFloat64).mean().item<double>();
  EXPECT_LT(differ, 0.01);
  EXPECT_TRUE(torch::equal(flow_of(run.model).endpoint(state), loaded.endpoint(state))) << "the run is left as it is";
}

TEST(SamplingFlow, IsTheRunsOwnUnlessTheRunSaysOtherwise) {
  const test::ScratchFolder folder;
  EXPECT_EQ(SampleOptions{}.precision, SamplePrecision::float32) << "what runs without the key have";
  const LoadedRun run = residual_run(folder, SamplePrecision::float32);
  const torch::NoGradGuard no_grad;
  const State state = some_state(flow_of(run.model));
  EXPECT_TRUE(torch::equal(sampling_flow(run).endpoint(state), flow_of(run.model).endpoint(state)));
}

}  // namespace
}  // namespace segre::sampling_flow_test
