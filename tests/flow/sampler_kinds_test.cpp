#include "segre/flow/sampler_kinds.h"

#include <cmath>

#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

namespace segre::sampler_kinds_test {
namespace {

using test::max_difference;
using test::noise;

// A hundred rounded float64 steps on numbers of size 1.
constexpr double kRounding = 1e-13;

std::vector<double> grid(double from, double to, int steps) {
  std::vector<double> times;
  for (int k = 0; k <= steps; ++k) times.push_back(from + (to - from) * k / steps);
  return times;
}

// The samplers with fixed steps that serve any velocity field: they ignore the path.
std::vector<SamplerKind> steppers() {
  std::vector<SamplerKind> all;
  for (const char* name : {"euler", "midpoint", "heun", "rk4", "ab2"}) all.push_back(sampler_kind(name));
  return all;
}

StepPlan steps(const SamplerKind& method, const std::vector<double>& times) {
  return method.plan(*make_e_geodesic(0.01), times);
}

// The exact flow of a random joint of 2, 3 and 4 labels.
struct OracleFlow {
  JointOracle oracle{test::random_joint(test::small_mixed_space()), make_e_geodesic(0.01)};
  FieldFunction field = [this](const torch::Tensor& v, const torch::Tensor& t) {
    return oracle.velocity(v, t.item<double>());
  };
};

TEST(SamplerKinds, ErrorFallsWithTheOrderOnTheExactFlow) {
  const test::Threads one_thread(1);
  const OracleFlow flow;
  const auto v = test::tangent_noise(flow.oracle.space(), 16);
  constexpr double kEnd = 0.5;
  const auto exact = integrate(flow.field, v, steps(sampler_kind("rk4"), grid(0.0, kEnd, 2000))).v;
  for (const SamplerKind& method : steppers()) {
    const int n_steps = method.order == 1 ? 400 : method.order == 2 ? 100 : 50;
    const auto error = [&](int n) {
      return (integrate(flow.field, v, steps(method, grid(0.0, kEnd, n))).v - exact).norm().item<double>();
    };
    const double order = std::log2(error(n_steps) / error(2 * n_steps));
    // The next power of the step still contributes at these steps.
    EXPECT_NEAR(order, method.order, 0.2) << method.name;
  }
}

TEST(SamplerKinds, ConstantFieldsAreExact) {
  const auto slope = noise({3, 4});
  for (const SamplerKind& method : steppers()) {
    const auto end = integrate([&](const auto&, const auto&) { return slope; }, torch::zeros({3, 4}, torch::kFloat64),
                               steps(method, grid(0, 2, 7)));
    EXPECT_LT(max_difference(end.v, 2.0 * slope), kRounding) << method.name;
  }
}

TEST(SamplerKinds, PolynomialsInTimeAreExactUpToTheOrder) {
  for (const SamplerKind& method : steppers())
    for (int power = 0; power < method.order; ++power) {
      const FieldFunction field = [&](const torch::Tensor& v, const torch::Tensor& t) {
        return t.pow(power).expand_as(v);
      };
      const double expected = (std::pow(2.0, power + 1) - std::pow(0.5, power + 1)) / (power + 1);
      for (const auto& times : {grid(0.5, 2.0, 3), std::vector<double>{0.5, 0.6, 1.1, 1.25, 2.0}}) {
        const auto end = integrate(field, torch::zeros({1, 1}, torch::kFloat64), steps(method, times)).v.item<double>();
        EXPECT_NEAR(end, expected, kRounding) << method.name << power;
      }
    }
}

TEST(SamplerKinds, LinearFieldsGiveTheTaylorPolynomialOfTheExponential) {
  constexpr double kStep = 0.3;
  for (const SamplerKind& method : steppers()) {
    const auto end = integrate([](const auto& v, const auto&) { return -v; }, torch::ones({1, 1}, torch::kFloat64),
                               steps(method, {0.0, kStep}))
                         .v;
    double expected = 0.0;
    double term = 1.0;
    for (int k = 0; k <= method.order; term *= -kStep / ++k) expected += term;
    EXPECT_NEAR(end.item<double>(), expected, kRounding) << method.name;
  }
}

// v' = v + h ((1 + r/2) f - r/2 f_before), r = h / h_before, by hand.
TEST(SamplerKinds, AdamsBashforthContinuesTheFieldThroughItsLastTwoValues) {
  const auto field = [](const auto& v, const auto& t) { return v * t; };
  const auto end =
      integrate(field, torch::ones({1, 1}, torch::kFloat64), steps(sampler_kind("ab2"), {0.0, 0.2, 0.5})).v;
  const double first = 1.0 + 0.1 * 0.2;  // Heun's: f is 0 at the start and 0.2 * 1 ahead
  EXPECT_NEAR(end.item<double>(), first + 0.3 * (1.75 * first * 0.2 - 0.75 * 0.0), kRounding);
}

TEST(SamplerKinds, BackwardIntegrationReturns) {
  const test::Threads one_thread(1);
  const OracleFlow flow;
  const auto v = test::tangent_noise(flow.oracle.space(), 16);
  const auto there = integrate(flow.field, v, steps(sampler_kind("rk4"), grid(0.0, 0.5, 400))).v;
  EXPECT_GT(max_difference(there, v), 0.5);
  const auto back = integrate(flow.field, there, steps(sampler_kind("rk4"), grid(0.5, 0.0, 400))).v;
  // Fourth order errors of h = 1/800, stretched by the backward flow.
  EXPECT_LT(max_difference(back, v), 1e-6);
}

TEST(SamplerKinds, EvaluationsAreCountedAsTheyHappen) {
  for (const SamplerKind& method : steppers()) {
    int64_t calls = 0;
    const FieldFunction field = [&](const torch::Tensor& v, const torch::Tensor&) {
      ++calls;
      return v;
    };
    const auto end = integrate(field, torch::ones({1, 1}), steps(method, grid(0, 1, 9)));
    EXPECT_EQ(end.n_evaluations, calls) << method.name;
    // As many per step as its order, except for Adams-Bashforth, which starts with a Heun step.
    EXPECT_EQ(calls, method.name == "ab2" ? 10 : 9 * method.order) << method.name;
  }
}

TEST(SamplerKinds, ObserverSeesEveryTimeOfTheGrid) {
  std::vector<double> seen;
  std::vector<double> states;
  const auto observe = [&](const torch::Tensor& v, double t) {
    seen.push_back(t);
    states.push_back(v.item<double>());
  };
  const auto times = grid(0.0, 1.0, 4);
  integrate([](const auto& v, const auto&) { return torch::ones_like(v); }, torch::zeros({1, 1}, torch::kFloat64),
            steps(sampler_kind("euler"), times), observe);
  EXPECT_EQ(seen, times);
  for (size_t k = 0; k < states.size(); ++k) EXPECT_NEAR(states[k], times[k], kRounding);
}

TEST(SamplerKinds, ASingleTimeIsNoStep) {
  const auto v = noise({2, 2});
  const auto end = integrate([](const auto& x, const auto&) { return x; }, v, steps(sampler_kind("rk4"), {0.3}));
  EXPECT_TRUE(torch::equal(end.v, v));
  EXPECT_EQ(end.n_evaluations, 0);
}

TEST(SamplerKinds, UnknownNamesAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(test::input_error([] { sampler_kind("leapfrog"); }),
            "sampler 'leapfrog' is not one of euler, midpoint, heun, rk4, ab2, multistep, early, dopri5, sde, erasure");
  EXPECT_EQ(sampler_kind("heun").order, 2);
  EXPECT_TRUE(sampler_kind("dopri5").adaptive());
  EXPECT_FALSE(sampler_kind("sde").deterministic);
  EXPECT_FALSE(sampler_kind("erasure").adaptive()) << "it takes sample.steps";
  EXPECT_FALSE(sampler_kind("erasure").deterministic);
}

}  // namespace
}  // namespace segre::sampler_kinds_test
