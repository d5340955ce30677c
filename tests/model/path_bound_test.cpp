#include <cmath>

#include "segre/model/joint_oracle.h"
#include "segre/path/e_geodesic.h"
#include "segre/path/path_sample.h"
#include "tests/support/reference.h"
#include "tests/support/threads.h"

// With the exact flow the path proposal's bound has no gap.

namespace segre::path_bound_test {
namespace {

constexpr double kExactLogP = -3.7877;
constexpr double kTableTol = 1e-3;       // the table's digits
constexpr double kStandardError = 3e-4;  // small enough to see the gap
constexpr int64_t kLabeling = 37;        // any of the 64

// Six binary variables at random, one labeling's probability set to the table's, the others rescaled.
JointOracle table_oracle() {
  const Space space = test::binary_space(6);
  auto p = test::random_joint(space).p.clone();
  const double wanted = std::exp(kExactLogP);
  const double rest = 1.0 - p[kLabeling].item<double>();
  p = p * (1.0 - wanted) / rest;
  p[kLabeling] = wanted;
  return {make_joint_table(space, enumerate_labelings(space), p), make_e_geodesic(0.01)};
}

struct Estimate {
  double mean, error;
};

Estimate bound(const JointOracle& oracle, int64_t labeling, double t1, int64_t draws) {
  const auto u_0 = reference_noise(oracle.space(), {11, Purpose::probe}, 0, draws, torch::kFloat64);
  const auto weights = oracle.path_log_weights(oracle.table().labelings[labeling], u_0, t1);
  return {weights.mean().item<double>(), weights.std().item<double>() / std::sqrt(static_cast<double>(draws))};
}

TEST(PathBound, IsExactOnceLabelsAreDecided) {
  const JointOracle oracle = table_oracle();
  EXPECT_NEAR(oracle.log_p(oracle.table().labelings.narrow(0, kLabeling, 1)).item<double>(), kExactLogP, 1e-12);
  for (const double t1 : {0.6, 0.7, 0.9, 0.99}) {
    const auto [mean, error] = bound(oracle, kLabeling, t1, 50'000);
    EXPECT_LT(error, kStandardError) << t1;
    EXPECT_NEAR(mean, kExactLogP, kTableTol) << t1;
  }
}

TEST(PathBound, IsSlightlyBelowWhereLabelsAreNotQuiteDecided) {
  const auto [mean, error] = bound(table_oracle(), kLabeling, 0.5, 100'000);
  EXPECT_LT(error, kStandardError);
  EXPECT_LT(mean, kExactLogP + 3.0 * error);  // a lower bound
  EXPECT_GT(mean, kExactLogP - 2e-3);         // the bound is loosest there
}

TEST(PathBound, GrowsLooseEarlyOn) {
  const auto [mean, error] = bound(table_oracle(), kLabeling, 0.2, 20'000);
  EXPECT_LT(mean, kExactLogP - 10.0 * error);
}

TEST(PathBound, WeightsOfAllLabelingsSumToOne) {
  const test::Threads one_thread(1);
  const JointOracle oracle = table_oracle();
  double total = 0.0;
  double variance = 0.0;
  for (int64_t r = 0; r < 64; ++r) {
    const auto [mean, error] = bound(oracle, r, 0.6, 5'000);
    total += std::exp(mean);
    variance += std::pow(std::exp(mean) * error, 2);
  }
  EXPECT_LT(std::sqrt(variance), kStandardError);
  EXPECT_NEAR(total, 1.0, kTableTol);
}

TEST(PathBound, WeightsAreTheirDefinition) {
  const Space space = test::small_mixed_space();
  for (const auto& [path, t] : test::both_paths()) {
    const JointOracle oracle(test::random_joint(space), path);
    const auto labeling = oracle.table().labelings[13];
    const auto u_0 = test::tangent_noise(space, 3);
    const auto found = oracle.path_log_weights(labeling, u_0, t);
    const auto at = path->at(t);
    const auto labels = test::labels_of(labeling);
    const auto u = test::corner_by_loops(space, *path, labels);
    for (int64_t k = 0; k < 3; ++k) {
      auto v = test::values_of(u_0[k]);
      for (size_t j = 0; j < v.size(); ++j) v[j] = at.a * u[j] + at.s * v[j];
      // rho is the density of a table that holds this one labeling; the readout is Bayes' rule variable by variable.
      const auto alone = make_joint_table(space, labeling.unsqueeze(0), torch::ones({1}, torch::kFloat64));
      const double log_rho = test::exact_by_loops(alone, *path, v, t).log_density;
      double expected = test::exact_by_loops(oracle.table(), *path, v, t).log_density - log_rho;
      for (int64_t i = 0, first = 0; i < 3; first += space.n_labels(i++)) {
        double total = 0.0;
        const double kappa = path->corner_scale(space.n_labels(i));
        for (int64_t j = 0; j < space.n_labels(i); ++j)
          total += std::exp(kappa * at.a / (at.s * at.s) * (v[first + j] - v[first + labels[i]]));
        expected -= std::log(total);
      }
      EXPECT_NEAR(found[k].item<double>(), expected, 1e-10);  // exponents of size 100 in float64
    }
  }
}

}  // namespace
}  // namespace segre::path_bound_test
