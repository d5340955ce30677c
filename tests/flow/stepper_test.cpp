#include "segre/flow/stepper.h"

#include <cmath>

#include "segre/oracle/joint_oracle.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

namespace segre {
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

// The exact flow of a random joint of 2, 3 and 4 labels.
struct OracleFlow {
  JointOracle oracle{test::random_joint(test::small_mixed_space()), make_e_geodesic(0.01)};
  VelocityField field = [this](const torch::Tensor& v, const torch::Tensor& t) {
    return oracle.velocity(v, t.item<double>());
  };
};

TEST(Stepper, ErrorFallsWithTheOrderOnTheExactFlow) {
  const test::Threads one_thread(1);
  const OracleFlow flow;
  const auto v = test::tangent_noise(flow.oracle.space(), 16);
  constexpr double kEnd = 0.5;
  const auto exact = integrate(flow.field, v, grid(0.0, kEnd, 2000), stepper("rk4")).v;
  for (const Stepper& method : steppers()) {
    const int steps = method.order == 1 ? 400 : method.order == 2 ? 100 : 50;
    const auto error = [&](int n) {
      return (integrate(flow.field, v, grid(0.0, kEnd, n), method).v - exact).norm().item<double>();
    };
    const double order = std::log2(error(steps) / error(2 * steps));
    // The next power of the step still has a share at these steps.
    EXPECT_NEAR(order, method.order, 0.2) << method.name;
  }
}

TEST(Stepper, ConstantFieldsAreExact) {
  const auto slope = noise({3, 4});
  for (const Stepper& method : steppers()) {
    const auto end = integrate([&](const auto&, const auto&) { return slope; }, torch::zeros({3, 4}, torch::kFloat64),
                               grid(0, 2, 7), method);
    EXPECT_LT(max_difference(end.v, 2.0 * slope), kRounding) << method.name;
  }
}

TEST(Stepper, PolynomialsInTimeAreExactUpToTheOrder) {
  for (const Stepper& method : steppers())
    for (int power = 0; power < method.order; ++power) {
      const VelocityField field = [&](const torch::Tensor& v, const torch::Tensor& t) {
        return t.pow(power).expand_as(v);
      };
      const double expected = (std::pow(2.0, power + 1) - std::pow(0.5, power + 1)) / (power + 1);
      for (const auto& times : {grid(0.5, 2.0, 3), std::vector<double>{0.5, 0.6, 1.1, 1.25, 2.0}}) {
        const auto end = integrate(field, torch::zeros({1, 1}, torch::kFloat64), times, method).v.item<double>();
        EXPECT_NEAR(end, expected, kRounding) << method.name << power;
      }
    }
}

TEST(Stepper, LinearFieldsGiveTheTaylorPolynomialOfTheExponential) {
  constexpr double kStep = 0.3;
  for (const Stepper& method : steppers()) {
    const auto end = integrate([](const auto& v, const auto&) { return -v; }, torch::ones({1, 1}, torch::kFloat64),
                               {0.0, kStep}, method)
                         .v;
    double expected = 0.0;
    double term = 1.0;
    for (int k = 0; k <= method.order; term *= -kStep / ++k) expected += term;
    EXPECT_NEAR(end.item<double>(), expected, kRounding) << method.name;
  }
}

// v' = v + h ((1 + r/2) f - r/2 f_before), r = h / h_before, by hand.
TEST(Stepper, AdamsBashforthContinuesTheFieldThroughItsLastTwoValues) {
  const auto field = [](const auto& v, const auto& t) { return v * t; };
  const auto end = integrate(field, torch::ones({1, 1}, torch::kFloat64), {0.0, 0.2, 0.5}, stepper("ab2")).v;
  const double first = 1.0 + 0.1 * 0.2;  // Heun's: f is 0 at the start and 0.2 * 1 ahead
  EXPECT_NEAR(end.item<double>(), first + 0.3 * (1.75 * first * 0.2 - 0.75 * 0.0), kRounding);
}

TEST(Stepper, BackwardIntegrationReturns) {
  const test::Threads one_thread(1);
  const OracleFlow flow;
  const auto v = test::tangent_noise(flow.oracle.space(), 16);
  const auto there = integrate(flow.field, v, grid(0.0, 0.5, 400), stepper("rk4")).v;
  EXPECT_GT(max_difference(there, v), 0.5);
  const auto back = integrate(flow.field, there, grid(0.5, 0.0, 400), stepper("rk4")).v;
  // Fourth order errors of h = 1/800, stretched by the backward flow.
  EXPECT_LT(max_difference(back, v), 1e-6);
}

TEST(Stepper, EvaluationsAreCountedAsTheyHappen) {
  for (const Stepper& method : steppers()) {
    int64_t calls = 0;
    const VelocityField field = [&](const torch::Tensor& v, const torch::Tensor&) {
      ++calls;
      return v;
    };
    const auto end = integrate(field, torch::ones({1, 1}), grid(0, 1, 9), method);
    EXPECT_EQ(end.n_evaluations, calls) << method.name;
    // Adams and Bashforth start with a step of Heun's.
    EXPECT_EQ(calls, 9 * method.n_evaluations + (method.name == "ab2" ? 1 : 0)) << method.name;
  }
}

TEST(Stepper, ObserverSeesEveryTimeOfTheGrid) {
  std::vector<double> seen;
  std::vector<double> states;
  const auto observe = [&](const torch::Tensor& v, double t) {
    seen.push_back(t);
    states.push_back(v.item<double>());
  };
  const auto times = grid(0.0, 1.0, 4);
  integrate([](const auto& v, const auto&) { return torch::ones_like(v); }, torch::zeros({1, 1}, torch::kFloat64),
            times, stepper("euler"), observe);
  EXPECT_EQ(seen, times);
  for (size_t k = 0; k < states.size(); ++k) EXPECT_NEAR(states[k], times[k], kRounding);
}

TEST(Stepper, ASingleTimeIsNoStep) {
  const auto v = noise({2, 2});
  const auto end = integrate([](const auto& x, const auto&) { return x; }, v, {0.3}, stepper("rk4"));
  EXPECT_TRUE(torch::equal(end.v, v));
  EXPECT_EQ(end.n_evaluations, 0);
}

TEST(Stepper, UnknownNamesAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(test::input_error([] { stepper("leapfrog"); }),
            "scheme 'leapfrog' is not one of euler, midpoint, heun, rk4, ab2");
  EXPECT_EQ(stepper("heun").order, 2);
}

}  // namespace
}  // namespace segre
