#include <cmath>

#include "segre/flow/sampler_kinds.h"
#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/path_sample.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

// The oracle's velocity, divergence and density belong together: they satisfy the continuity equation.

namespace segre::oracle_flow_test {
namespace {

using test::both_paths;
using test::max_difference;
using test::tangent_noise;

constexpr double kStep = 1e-5;
// Central differences: h^2 times third derivatives of size 1,000, and rounding 1e-14 / h.
constexpr double kDifferenceTol = 1e-6;
constexpr int64_t kPoints = 6;

std::vector<JointOracle> oracles() {
  std::vector<JointOracle> out;
  for (const Space& space : {test::binary_space(3), test::small_mixed_space()})
    for (const auto& timed : both_paths()) out.emplace_back(test::random_joint(space), timed.path);
  return out;
}

double time_of(const JointOracle& oracle) { return std::isinf(oracle.path().t_end()) ? 3.0 : 0.4; }

TEST(OracleFlow, DivergenceIsTheTraceOfTheJacobianOverTheTangentSpace) {
  for (const JointOracle& oracle : oracles()) {
    const double t = time_of(oracle);
    const auto v = tangent_noise(oracle.space(), kPoints);
    const auto frame = test::tangent_frame(oracle.space());
    auto trace = torch::zeros({kPoints}, torch::kFloat64);
    for (int64_t k = 0; k < oracle.space().n_dims(); ++k) {
      const auto q = frame.select(1, k);
      trace += ((oracle.velocity(v + kStep * q, t) - oracle.velocity(v - kStep * q, t)) / (2 * kStep)).matmul(q);
    }
    EXPECT_LT(max_difference(oracle.divergence(v, t), trace), kDifferenceTol) << oracle.path().name();
  }
}

TEST(OracleFlow, DensityAndVelocitySatisfyTheContinuityEquation) {
  for (const JointOracle& oracle : oracles()) {
    const double t = time_of(oracle);
    const auto v = tangent_noise(oracle.space(), kPoints);
    const auto F = oracle.velocity(v, t);
    const auto in_time = (oracle.log_density(v, t + kStep) - oracle.log_density(v, t - kStep)) / (2 * kStep);
    const auto along = (oracle.log_density(v + kStep * F, t) - oracle.log_density(v - kStep * F, t)) / (2 * kStep);
    const auto divergence = oracle.divergence(v, t);
    EXPECT_GT(divergence.abs().max().item<double>(), 0.1);  // there is something to balance
    EXPECT_LT((in_time + along + divergence).abs().max().item<double>(), kDifferenceTol) << oracle.path().name();
  }
}

TEST(OracleFlow, ReferenceIsTheDensityAtTimeZero) {
  for (const JointOracle& oracle : oracles()) {
    const auto v = tangent_noise(oracle.space(), kPoints);
    EXPECT_LT(max_difference(oracle.log_density(v, 0.0), reference_log_density(oracle.space(), v)), 1e-12);
  }
}

TEST(OracleFlow, ChangeOfVariablesAlongTheFlowGivesTheClosedDensity) {
  const test::Threads one_thread(1);
  for (const JointOracle& oracle : oracles()) {
    const int64_t S = oracle.space().n_coordinates();
    const double t1 = 1.25 * time_of(oracle);
    // State and divergence are carried together; the last column collects the integral.
    const FieldFunction field = [&](const torch::Tensor& x, const torch::Tensor& time) {
      const auto v = x.narrow(1, 0, S);
      const double t = time.item<double>();
      return torch::cat({oracle.velocity(v, t), oracle.divergence(v, t).unsqueeze(1)}, 1);
    };
    constexpr int kSteps = 800;
    std::vector<double> times;
    for (int k = 0; k <= kSteps; ++k) times.push_back(t1 * (1.0 - static_cast<double>(k) / kSteps));
    const auto v = tangent_noise(oracle.space(), kPoints);
    const auto start = torch::cat({v, torch::zeros({kPoints, 1}, torch::kFloat64)}, 1);
    const auto end = integrate(field, start, sampler_kind("rk4").plan(oracle.path(), times)).v;
    const auto carried = reference_log_density(oracle.space(), end.narrow(1, 0, S)) + end.select(1, S);
    // Fourth order with 800 steps: measured 1.5e-8, and sixteen times that with half the steps.
    EXPECT_LT(max_difference(carried, oracle.log_density(v, t1)), 1e-7) << oracle.path().name();
  }
}

TEST(OracleFlow, FlowCarriesNoiseToTheDistribution) {
  const test::Threads one_thread(1);
  const JointOracle oracle(test::random_joint(test::binary_space(2)), make_e_geodesic(0.01));
  constexpr int64_t kDraws = 40'000;
  constexpr double kEnd = 0.7;
  std::vector<double> times;
  for (int k = 0; k <= 40; ++k) times.push_back(kEnd * k / 40.0);
  const auto u_0 = reference_noise(oracle.space(), {9, Purpose::sampling_noise}, 0, kDraws, torch::kFloat64);
  const auto field = [&](const auto& x, const auto& t) { return oracle.velocity(x, t.template item<double>()); };
  const auto v = integrate(field, u_0, sampler_kind("rk4").plan(oracle.path(), times)).v;
  const auto p = test::values_of(oracle.table().p);
  for (int64_t r = 0; r < 4; ++r) {
    // Labeling r = 2 x + y is read from the signs of v.
    const auto is_r = ((v.select(1, 1) > 0).to(torch::kInt64) * 2 + (v.select(1, 3) > 0).to(torch::kInt64)) == r;
    const double share = is_r.to(torch::kFloat64).mean().item<double>();
    EXPECT_LT(std::abs(share - p[r]), 4.0 * std::sqrt(p[r] * (1 - p[r]) / kDraws)) << "labeling " << r;
  }
}

}  // namespace
}  // namespace segre::oracle_flow_test
