// The control variate: no bias, less noise.

#include <cmath>

#include "segre/likelihood/free_bound.h"
#include "segre/net/mlp.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/path_sample.h"
#include "segre/recipes/experiment.h"
#include "segre/space/blocks.h"
#include "tests/support/reference.h"
#include "tests/support/statistics.h"

namespace segre::control_test {
namespace {

double error_of_mean(const ItemScores& scores) {
  return std::sqrt(scores.std_error.square().sum().item<double>()) / static_cast<double>(scores.log_p.size(0));
}

// Quadrature of the independent model's own bound in one variable of three labels: it is -log q.
TEST(IndependentControl, ItsAnswerIsMinusLogQ) {
  for (const auto& [path, unused] : test::both_paths()) {
    const Space space = test::space_of({3});
    const auto oracle = JointOracle(test::random_joint(space, 4), path);
    const IndependentControl control(flow_of(oracle));
    const auto labels = torch::tensor({{1}}, torch::kInt64);
    const auto log_q = torch::tensor({{0.2, 0.7, 0.1}}, torch::kFloat64).log();
    const double t1 = decision_time(space, *path);
    constexpr int64_t kTimes = 400;
    constexpr int64_t kNoises = 2000;
    const auto noise = reference_noise(space, {3, Purpose::probe}, 0, kNoises, torch::kFloat64);
    const auto corner = corners(space, *path, labels, torch::kFloat64).expand({kNoises, 3});
    double integral = 0.0;
    for (int64_t k = 0; k < kTimes; ++k) {  // the midpoint rule, with the same noises at every time
      const double t = t1 * (static_cast<double>(k) + 0.5) / kTimes;
      const auto at = path->at(t);
      const auto D = control.endpoint(log_q.expand({kNoises, 3}), at.a * corner + at.s * noise,
                                      torch::full({kNoises}, t, torch::kFloat64));
      const auto error = (corner - D).square().sum(1, /*keepdim=*/false, torch::kFloat64);
      integral += information_rate(at) * error.mean().item<double>() * t1 / kTimes;
    }
    // 2,000 noise draws; the integrals spread by about 0.9.
    EXPECT_NEAR(integral, -std::log(0.7), 5.0 * 0.9 / std::sqrt(2000.0)) << path->name();
  }
}

TEST(IndependentControl, ReadsOffWhatTheOthersSay) {
  // Two variables that are almost always equal: once the other is half known, so is this one.
  const Space space = test::binary_space(2);
  const auto table =
      make_joint_table(space, enumerate_labelings(space), torch::tensor({0.495, 0.005, 0.005, 0.495}, torch::kFloat64));
  const JointOracle oracle(table, make_e_geodesic(0.01));
  const Flow flow = flow_of(oracle);
  const auto labels = torch::tensor({{0, 0}, {0, 1}}, torch::kInt64);
  const auto q = IndependentControl(flow).log_q(labels, {}, flow.endpoint).exp();
  EXPECT_NEAR(q[0][0].item<double>() + q[0][1].item<double>(), 1.0, 1e-9);
  EXPECT_GT(q[0][0].item<double>(), 0.7);
  EXPECT_LT(q[1][0].item<double>(), 0.3) << "variable 0 is 0, but variable 1 says 1";
}

TEST(FreeBoundControl, TakesOffNoiseAndNothingElse) {
  for (const Space& space : {test::binary_space(6), test::small_mixed_space()}) {
    const JointOracle oracle(test::random_joint(space, 7), make_e_geodesic(0.01));
    const auto labels = enumerate_labelings(space);
    const auto with = FreeBound(flow_of(oracle), TimeDensity(1.0), {.times = 1024})(labels);
    const auto without = FreeBound(flow_of(oracle), TimeDensity(1.0), {.times = 1024, .control = false})(labels);
    const double gain =
        without.std_error.square().mean().item<double>() / with.std_error.square().mean().item<double>();
    EXPECT_GT(gain, 2.0) << space.describe();
    const auto error = with.log_p - oracle.log_p(labels);
    EXPECT_LT(std::abs(error.mean().item<double>()), 4.0 * error_of_mean(with)) << space.describe();
    const auto difference = (with.log_p - without.log_p).mean().item<double>();
    EXPECT_LT(std::abs(difference), 4.0 * error_of_mean(without));
  }
}

// A network that knows nothing has its own bound, which the control must not shift.
TEST(FreeBoundControl, IsUnbiasedForAnyNetwork) {
  const Space space = test::small_mixed_space();
  for (const Form form : {Form::evidence, Form::endpoint, Form::velocity}) {
    Experiment recipe;
    recipe.net.kind = "mlp";
    recipe.net.of<MlpOptions>().hidden = {16};
    recipe.form = form;
    Model model = make_model(recipe, space, torch::kCPU);
    {
      const torch::NoGradGuard no_grad;
      uint64_t seed = 1;
      for (const auto& [name, parameter] : model.field().parameters())
        parameter.add_(test::noise(parameter.sizes(), ++seed, torch::kFloat32), 0.2);
    }
    const auto labels = enumerate_labelings(space);
    const auto with = FreeBound(flow_of(model), TimeDensity(1.0), {.times = 4096})(labels);
    const auto without = FreeBound(flow_of(model), TimeDensity(1.0), {.times = 4096, .control = false})(labels);
    const double error = std::hypot(error_of_mean(with), error_of_mean(without));
    EXPECT_NEAR(with.log_p.mean().item<double>(), without.log_p.mean().item<double>(), 4.0 * error);
  }
}

}  // namespace
}  // namespace segre::control_test
