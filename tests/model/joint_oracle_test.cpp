#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"

#include <cmath>
#include <limits>

#include "tests/support/reference.h"

namespace segre::joint_oracle_test {
namespace {

using test::both_paths;
using test::max_difference;
using test::Row;
using test::tangent_noise;
using test::tensor_of;
using test::values_of;

// Mixtures of up to 24 float64 terms whose exponents have size 100.
constexpr double kRounding = 1e-11;
constexpr int64_t kPoints = 5;

std::vector<Space> spaces() { return {test::binary_space(3), test::small_mixed_space()}; }

TEST(JointOracle, EverythingEqualsTheLoopsOverLabelings) {
  for (const Space& space : spaces())
    for (const auto& [path, t] : both_paths()) {
      const JointOracle oracle(test::random_joint(space), path);
      const auto v = tangent_noise(space, kPoints, 3, 1.5);
      for (int64_t b = 0; b < kPoints; ++b) {
        const auto row = v.narrow(0, b, 1);
        const auto exact = test::exact_by_loops(oracle.table(), *path, values_of(row), t);
        EXPECT_NEAR(oracle.log_density(row, t).item<double>(), exact.log_density, kRounding);
        EXPECT_LT(max_difference(oracle.log_posterior(row, t).exp()[0], tensor_of(exact.posterior)), kRounding);
        EXPECT_LT(max_difference(oracle.endpoint(row, t)[0], tensor_of(exact.endpoint)), kRounding);
        EXPECT_LT(max_difference(oracle.velocity(row, t)[0], tensor_of(exact.velocity)), 10 * kRounding);
      }
    }
}

TEST(JointOracle, PosteriorMarginalsSumThePosterior) {
  const Space space = test::small_mixed_space();
  const auto [path, t] = both_paths().front();
  const JointOracle oracle(test::random_joint(space), path);
  const auto v = tangent_noise(space, 1);
  const auto w = values_of(oracle.log_posterior(v, t).exp());
  Row expected(9, 0.0);
  for (size_t r = 0; r < 24; ++r) {
    expected[r / 12] += w[r];
    expected[2 + r / 4 % 3] += w[r];
    expected[5 + r % 4] += w[r];
  }
  EXPECT_LT(max_difference(oracle.posterior_marginals(v, t)[0], tensor_of(expected)), kRounding);
}

TEST(JointOracle, DensityOfOneBinaryVariableIntegratesToOneOnAGrid) {
  const Space space = test::binary_space(1);
  constexpr int64_t kCells = 24'000;
  constexpr double kReach = 12.0;  // eight standard deviations beyond the corners
  const auto x = torch::linspace(-kReach, kReach, kCells + 1, torch::kFloat64);
  const auto v = torch::stack({x, -x}, 1) / std::sqrt(2.0);
  for (const auto& [path, t] : both_paths()) {
    const JointOracle oracle(test::random_joint(space), path);
    const double mass = oracle.log_density(v, t).exp().sum().item<double>() * 2.0 * kReach / kCells;
    EXPECT_NEAR(mass, 1.0, 1e-10);  // sums over a grid converge faster than any power for Gaussians
  }
}

TEST(JointOracle, DensityIntegratesToOneByImportanceSampling) {
  constexpr int64_t kDraws = 400'000;
  constexpr double kWidth = 1.8;  // wider than the path's noise, about as wide as its corners
  for (const Space& space : spaces())
    for (const auto& [path, t] : both_paths()) {
      const JointOracle oracle(test::random_joint(space), path);
      const auto u = tangent_noise(space, kDraws, 4);
      const auto dims = static_cast<double>(space.n_dims());
      const auto log_proposal = -0.5 * u.square().sum(-1) - dims * (std::log(kWidth) + 0.5 * std::log(2.0 * M_PI));
      const auto weight = (oracle.log_density(kWidth * u, t) - log_proposal).exp();
      const double error = weight.std().item<double>() / std::sqrt(static_cast<double>(kDraws));
      EXPECT_LT(error, 0.02) << "too few draws to tell";
      EXPECT_LT(std::abs(weight.mean().item<double>() - 1.0), 4.0 * error) << path->name() << ", " << space.describe();
    }
}

TEST(JointOracle, KnowsProbabilitiesAndWhatCannotOccur) {
  const Space space = test::small_mixed_space();
  auto weights = torch::arange(24, torch::kFloat64);
  weights[5] = 0.0;  // labeling 0 has weight 0 as well
  const JointOracle oracle(make_joint_table(space, enumerate_labelings(space), weights), make_e_geodesic(0.01));
  const auto log_p = values_of(oracle.log_p(enumerate_labelings(space)));
  const double total = 23.0 * 24.0 / 2.0 - 5.0;
  for (size_t r = 0; r < 24; ++r) {
    if (r == 0 || r == 5)
      EXPECT_EQ(log_p[r], -std::numeric_limits<double>::infinity());
    else
      EXPECT_NEAR(log_p[r], std::log(static_cast<double>(r) / total), kRounding);
  }
  EXPECT_NE(test::input_error([&] { oracle.log_p(torch::full({1, 3}, 3, torch::kInt64)); }), "");
}

TEST(JointOracle, MatchedReadoutIsTheBayesRuleOfEachVariable) {
  const Space space = test::small_mixed_space();
  const auto v = tangent_noise(space, 1);
  for (const auto& [path, t] : both_paths()) {
    const auto readout = values_of(matched_readout(space, *path, v, t).exp());
    const auto x = values_of(v);
    size_t first = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const Space one = test::space_of({space.n_labels(i)});
      const Row part(x.begin() + static_cast<int64_t>(first),
                     x.begin() + static_cast<int64_t>(first) + space.n_labels(i));
      const auto labels = enumerate_labelings(one);
      const auto uniform = make_joint_table(one, labels, torch::ones({labels.size(0)}, torch::kFloat64));
      const auto exact = test::exact_by_loops(uniform, *path, part, t);
      for (size_t j = 0; j < part.size(); ++j) EXPECT_NEAR(readout[first + j], exact.posterior[j], kRounding);
      first += part.size();
    }
  }
}

TEST(JointOracle, VelocityOnCudaEqualsTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Space space = test::small_mixed_space();
  const auto v = tangent_noise(space, 64);
  for (const auto& [path, t] : both_paths()) {
    const JointOracle oracle(test::random_joint(space), path);
    EXPECT_LT(max_difference(oracle.velocity(v.cuda(), t).cpu(), oracle.velocity(v, t)), kRounding);
    EXPECT_LT(max_difference(oracle.log_density(v.cuda(), t).cpu(), oracle.log_density(v, t)), kRounding);
    EXPECT_LT(max_difference(oracle.divergence(v.cuda(), t).cpu(), oracle.divergence(v, t)), kRounding);
  }
}

}  // namespace
}  // namespace segre::joint_oracle_test
