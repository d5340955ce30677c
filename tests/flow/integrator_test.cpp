#include "segre/flow/integrator.h"

#include <cmath>

#include "segre/flow/sampler_kinds.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/path_sample.h"
#include "segre/space/blocks.h"
#include "tests/support/messages.h"
#include "tests/support/reference.h"
#include "tests/support/samplers.h"
#include "tests/support/threads.h"

namespace segre::integrator_test {
namespace {

using test::max_difference;

// A hundred rounded float64 steps on numbers of size 5.
constexpr double kRounding = 1e-12;

// The exact flow of a random joint of 2, 3 and 4 labels.
Flow exact_flow(std::shared_ptr<const Path> path = make_e_geodesic(0.01)) {
  return flow_of(JointOracle(test::random_joint(test::small_mixed_space()), std::move(path)));
}

torch::Tensor start(const Flow& flow, int64_t rows) { return test::tangent_noise(flow.space, rows); }

torch::Tensor carried(const Flow& flow, const IntegratorOptions& options, const torch::Tensor& v) {
  return (*make_integrator(flow, options))({v}).v;
}

torch::Tensor reference(const Flow& flow, const torch::Tensor& v, double t1) {
  return carried(flow, {.sampler = "rk4", .steps = 2000, .t1 = t1}, v);
}

struct Order {
  const char* sampler;
  int order;
  int64_t steps;  // at which the leading error term dominates, and not rounding
};
constexpr Order kOrders[] = {{"euler", 1, 400}, {"midpoint", 2, 100},  {"heun", 2, 100}, {"rk4", 4, 50},
                             {"ab2", 2, 200},   {"multistep", 2, 200}, {"early", 2, 200}};

TEST(Integrator, ErrorsFallWithTheOrderOfEachSamplerOnBothPaths) {
  const test::Threads one(1);
  for (const auto& [path, t1] : test::both_paths()) {
    const Flow flow = exact_flow(path);
    const auto v = start(flow, 16);
    const auto exact = reference(flow, v, t1);
    for (const Order& known : kOrders) {
      const auto error = [&](int64_t steps) {
        return (carried(flow, {.sampler = known.sampler, .steps = steps, .t1 = t1}, v) - exact).norm().item<double>();
      };
      // The next power of the step still contributes at these steps.
      EXPECT_NEAR(std::log2(error(known.steps) / error(2 * known.steps)), known.order, 0.2)
          << known.sampler << ' ' << path->name();
    }
  }
}

// A flow with a given endpoint: its trajectories are known.
Flow flow_with_endpoint(const StateFunction& endpoint) {
  const auto path = make_e_geodesic(0.01);
  return {.space = test::binary_space(2),
          .path = path,
          .options = torch::kFloat64,
          .endpoint = endpoint,
          .velocity = [=](const State& at) { return velocity_from_endpoint(*path, endpoint(at), at.v, at.t); },
          .n_activations = 4};
}

TEST(Multistep, AFixedEndpointIsReachedExactlyByAnyNumberOfSteps) {
  const auto D = test::tangent_noise(test::binary_space(2), 1, 5);
  const Flow flow = flow_with_endpoint([&](const State& state) { return D.expand_as(state.v); });
  const auto v = start(flow, 8);
  for (const double t1 : {0.6, 0.99, 1.0})
    for (const int64_t steps : {1, 2, 7}) {
      const IntegratorOptions options{.sampler = "multistep", .steps = steps, .t1 = t1};
      // v_t = t D + (1 - t) v_0.
      EXPECT_LT(max_difference(carried(flow, options, v), t1 * D + (1 - t1) * v), kRounding) << t1 << ' ' << steps;
    }
}

TEST(Multistep, AnEndpointLinearInSigmaIsExactAfterTheFirstStep) {
  const auto slope = test::tangent_noise(test::binary_space(2), 1, 5);
  const Flow flow =
      flow_with_endpoint([&](const State& state) { return (state.t / (1 - state.t) * slope).expand_as(state.v); });
  // x = v/s has dx/dsigma = sigma slope. The first step takes the slope 0 at its start and misses sigma_1^2 / 2.
  const auto v = start(flow, 8);
  constexpr double kEnd = 0.6;
  const double sigma = kEnd / (1 - kEnd);
  const double sigma_1 = 0.1 / 0.9;
  const auto expected = (1 - kEnd) * (v + 0.5 * (sigma * sigma - sigma_1 * sigma_1) * slope);
  EXPECT_LT(max_difference(carried(flow, {.sampler = "multistep", .steps = 6, .t1 = kEnd}, v), expected), kRounding);
  // In t the same field is curved.
  EXPECT_GT(max_difference(carried(flow, {.sampler = "ab2", .steps = 6, .t1 = kEnd}, v), expected), 1e-3);
}

TEST(Integrator, TheLastStepToTheEndLandsOnTheEndpoint) {
  const test::Threads one(1);
  const Flow flow = exact_flow();
  const auto v = start(flow, 8);
  for (const char* sampler : {"euler", "midpoint", "heun", "rk4", "ab2", "multistep", "early", "sde"}) {
    std::vector<torch::Tensor> states;
    std::vector<double> times;
    const auto integrator = make_integrator(flow, {.sampler = sampler, .steps = 5, .t1 = 1.0});
    const Arrival arrival = (*integrator)({v}, [&](const torch::Tensor& x, double t) {
      states.push_back(x);
      times.push_back(t);
    });
    ASSERT_EQ(states.size(), 6U) << sampler;
    EXPECT_EQ(times, integrator->times()) << sampler;
    const auto D = flow.endpoint({states[4], torch::full({1}, 0.8, torch::kFloat64)});
    EXPECT_LT(max_difference(arrival.v, D), kRounding) << sampler;
  }
}

TEST(Integrator, ObservedAndUnobservedStatesAreEqual) {
  const test::Threads one(1);
  const Flow flow = exact_flow();
  const auto v = start(flow, 8);
  for (const std::string& sampler : test::sampler_names()) {
    const auto integrator = make_integrator(flow, {.sampler = sampler, .steps = 4, .t1 = 0.5});
    torch::Tensor last;
    const Arrival arrival = (*integrator)({v, 3}, [&](const torch::Tensor& x, double) { last = x; });
    EXPECT_TRUE(torch::equal(last, arrival.v)) << sampler;
    EXPECT_TRUE(torch::equal((*integrator)({v, 3}).v, arrival.v)) << sampler;
  }
}

TEST(Integrator, CountsEvaluationsAsTheyHappen) {
  const test::Threads one(1);
  int64_t calls = 0;
  Flow flow = exact_flow();
  const auto count = [&calls](const StateFunction& field) -> StateFunction {
    return [&calls, field](const State& state) {
      ++calls;
      return field(state);
    };
  };
  flow.endpoint = count(flow.endpoint);
  flow.velocity = count(flow.velocity);
  flow.log_marginals = count(flow.log_marginals);
  const auto v = start(flow, 1);
  for (const std::string& sampler : test::sampler_names())
    for (const double t1 : {0.5, 1.0}) {
      calls = 0;
      const auto arrival = (*make_integrator(flow, {.sampler = sampler, .steps = 6, .t1 = t1}))({v});
      EXPECT_EQ(arrival.n_evaluations.sizes(), (std::vector<int64_t>{1}));
      EXPECT_EQ(arrival.n_evaluations.item<int64_t>(), calls) << sampler << ' ' << t1;
    }
}

// Not erasure: its states are corners, finite whatever the network says, and this flow cannot be told labels.
TEST(Integrator, NumbersThatAreNotFiniteAreReported) {
  for (const std::string& sampler : test::stepping_sampler_names()) {
    const Flow broken =
        flow_with_endpoint([](const State& state) { return state.v / (state.t - state.t).unsqueeze(1); });
    const auto message = test::any_error([&] { carried(broken, {.sampler = sampler, .t1 = 0.5}, start(broken, 2)); });
    EXPECT_TRUE(test::contains(message, sampler == "dopri5" ? "no step is small enough" : "not finite")) << sampler;
  }
}

TEST(Integrator, UnknownSamplersAndSillyNumbersAreRefused) {
  const Flow flow = exact_flow();
  EXPECT_EQ(test::input_error([&] { make_integrator(flow, {.sampler = "leapfrog", .t1 = 0.5}); }),
            "sampler 'leapfrog' is not one of euler, midpoint, heun, rk4, ab2, multistep, early, dopri5, sde, erasure");
  EXPECT_EQ(test::input_error([&] { make_integrator(flow, {.steps = 0, .t1 = 0.5}); }),
            "sample.steps = 0: expected at least 1");
  EXPECT_EQ(test::input_error([&] { make_integrator(flow, {.sampler = "dopri5", .t1 = 0.5, .tolerance = 0}); }),
            "sample.tolerance = 0: expected a number above 0");
}

TEST(DormandPrince, TheErrorFollowsTheTolerance) {
  const test::Threads one(1);
  for (const auto& [path, t1] : test::both_paths()) {
    const Flow flow = exact_flow(path);
    const auto v = start(flow, 32);
    const auto exact = reference(flow, v, t1);
    double evaluations_before = 0.0;
    for (const double tolerance : {1e-2, 1e-4, 1e-6, 1e-8}) {
      const auto arrival = (*make_integrator(flow, {.sampler = "dopri5", .t1 = t1, .tolerance = tolerance}))({v});
      // The tolerance is per step; a handful of steps and the flow's own stretching add up to a few of them.
      EXPECT_LT(max_difference(arrival.v, exact), 100.0 * tolerance) << path->name() << ' ' << tolerance;
      const double evaluations = arrival.n_evaluations.to(torch::kFloat64).mean().item<double>();
      EXPECT_GT(evaluations, evaluations_before) << tolerance;
      evaluations_before = evaluations;
    }
    // A fifth order scheme: 1e-8 with some hundred evaluations.
    EXPECT_LT(evaluations_before, 300.0) << path->name();
  }
}

TEST(DormandPrince, ARowDoesNotDependOnTheRowsBesideIt) {
  const test::Threads one(1);
  const Flow flow = exact_flow();
  const auto v = start(flow, 12);
  const auto integrator = make_integrator(flow, {.sampler = "dopri5", .t1 = 0.6, .tolerance = 1e-5});
  const Arrival together = (*integrator)({v});
  EXPECT_GT(together.n_evaluations.max().item<int64_t>(), together.n_evaluations.min().item<int64_t>());
  // The same rows, next to far harder or easier ones.
  auto others = v.clone();
  others.slice(0, 6).mul_(5.0);
  const Arrival changed = (*integrator)({others});
  EXPECT_TRUE(torch::equal(changed.v.slice(0, 0, 6), together.v.slice(0, 0, 6)));
  EXPECT_TRUE(torch::equal(changed.n_evaluations.slice(0, 0, 6), together.n_evaluations.slice(0, 0, 6)));
  EXPECT_FALSE(torch::equal(changed.v.slice(0, 6), together.v.slice(0, 6)));
}

TEST(DormandPrince, TheToleranceIsRelativeToLargeStates) {
  const test::Threads one(1);
  // dv/dt = 5 v: the same flow at every scale, so that it takes the same steps far out.
  Flow flow = exact_flow();
  flow.velocity = [](const State& state) { return 5.0 * state.v; };
  const auto v = start(flow, 4);
  const auto integrator = make_integrator(flow, {.sampler = "dopri5", .t1 = 0.5, .tolerance = 1e-5});
  const auto large = (*integrator)({1e6 * v});
  const auto larger = (*integrator)({1e9 * v});
  EXPECT_TRUE(torch::equal(large.n_evaluations, larger.n_evaluations));
  EXPECT_LT(max_difference(larger.v / (1e9 * v), torch::full_like(v, std::exp(2.5))), 1e-3);
  EXPECT_LT(large.n_evaluations.max().item<int64_t>(), 100);
}

TEST(DormandPrince, GivesUpAfterTooManyAttempts) {
  const test::Threads one(1);
  // Quiet up to t = 1/4, then oscillating so fast that every step is tiny.
  Flow flow = exact_flow();
  flow.velocity = [](const State& state) {
    const auto& t = state.t;
    return (torch::where(t < 0.25, torch::zeros_like(t), (1e4 * t).sin() * 1e3)).unsqueeze(1).expand_as(state.v);
  };
  IntegratorOptions options{.sampler = "dopri5", .t1 = 0.5, .tolerance = 1e-4, .most_attempts = 60};
  const std::string message = test::any_error([&] { carried(flow, options, start(flow, 2)); });
  EXPECT_TRUE(
      test::contains(message, "dopri5: 60 attempted steps with sample.tolerance = 0.0001 reached only t = 0.2"));
  EXPECT_TRUE(test::contains(message, " of 0.5; raise it, or choose a sampler with fixed steps"));
  // A batch that finishes with its last attempt has finished.
  const Flow smooth = exact_flow();
  const auto v = start(smooth, 1);
  options.tolerance = 1e-6;
  const auto arrival = (*make_integrator(smooth, options))({v});
  options.most_attempts = (arrival.n_evaluations.item<int64_t>() - 1) / 6;
  EXPECT_TRUE(torch::equal(carried(smooth, options, v), arrival.v));
  options.most_attempts -= 1;
  EXPECT_TRUE(test::contains(test::any_error([&] { carried(smooth, options, v); }), "attempted steps"));
}

TEST(DormandPrince, LandsOnTheCornersAtTheEndOfThePath) {
  const test::Threads one(1);
  const Flow flow = exact_flow();
  const auto end = carried(flow, {.sampler = "dopri5", .t1 = 1.0, .tolerance = 1e-4}, start(flow, 32));
  const auto labels = argmax_labels(flow.space, end);
  // Near the end the posterior is a corner to many digits.
  EXPECT_LT(max_difference(end, corners(flow.space, *flow.path, labels, torch::kFloat64)), 1e-6);
}

// Noise with variance s^2 about a D: what the process leaves if D is fixed.
TEST(Diffusion, AFixedEndpointGivesThePathsGaussian) {
  const auto D = test::tangent_noise(test::binary_space(2), 1, 5);
  const Flow flow = flow_with_endpoint([&](const State& state) { return D.expand_as(state.v); });
  constexpr int64_t kDraws = 40'000;
  constexpr double kEnd = 0.6;
  for (const int64_t steps : {1, 5}) {
    const auto v =
        carried(flow, {.sampler = "sde", .steps = steps, .t1 = kEnd}, torch::zeros({kDraws, 4}, torch::kFloat64));
    const auto z = (v - kEnd * D).select(1, 0) / (1 - kEnd) * std::sqrt(2.0);  // a coordinate of T0 has variance 1/2
    // Mean and variance of standard normals, five standard errors.
    EXPECT_LT(std::abs(z.mean().item<double>()), 5.0 / std::sqrt(kDraws)) << steps;
    EXPECT_LT(std::abs(z.square().mean().item<double>() - 1.0), 5.0 * std::sqrt(2.0 / kDraws)) << steps;
    EXPECT_LT((v.select(1, 0) + v.select(1, 1)).abs().max().item<double>(), 1e-6) << "tangent";
  }
}

TEST(Diffusion, StepsAndSamplesHaveNoiseOfTheirOwn) {
  const test::Threads one(1);
  const Flow flow = exact_flow();
  const auto v = torch::zeros({6, 9}, torch::kFloat64);
  const auto integrator = make_integrator(flow, {.sampler = "sde", .steps = 3, .t1 = 0.5});
  const auto first = (*integrator)({v, 10, 4}).v;
  EXPECT_GT(max_difference(first[0], first[1]), 0.01);
  EXPECT_TRUE(torch::equal((*integrator)({v.slice(0, 0, 3), 12, 4}).v[0], first[2]));  // sample 12 in another batch
  EXPECT_GT(max_difference((*integrator)({v, 10, 5}).v, first), 0.01);
}

}  // namespace
}  // namespace segre::integrator_test
