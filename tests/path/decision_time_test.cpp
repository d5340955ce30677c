#include <cmath>

#include "segre/path/e_geodesic.h"
#include "segre/path/path.h"
#include "segre/path/path_sample.h"
#include "segre/space/blocks.h"
#include "tests/support/reference.h"

namespace segre::decision_time_test {
namespace {

using test::both_paths;
using test::mixed_space;

// Chance that one wrong label of a variable with c labels beats the right one: the difference of two coordinates of
// v_t is normal with mean a kappa and variance 2 s^2.
double pair_misread(const Path& path, int64_t c, double t) {
  const auto at = path.at(t);
  const double z = path.corner_scale(c) * at.a / (at.s * std::sqrt(2.0));
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

double union_bound(const Space& space, const Path& path, double t) {
  double bound = 0.0;
  for (int64_t i = 0; i < space.n_variables(); ++i)
    bound += static_cast<double>(space.n_labels(i) - 1) * pair_misread(path, space.n_labels(i), t);
  return bound;
}

TEST(DecisionTime, IsWhereTheMisreadBoundMeetsTheError) {
  const Space spaces[] = {mixed_space(), Space::image(32, 32, 2),
                          Space::sequence(2, 91)};
  for (const Space& space : spaces)
    for (const auto& [path, t] : both_paths())
      for (const double error : {1e-2, 1e-5, 1e-9}) {
        const double t1 = decision_time(space, *path, error);
        // Bisected to 1e-9 of t; the bound's logarithm falls by less than 1,000 per unit of t.
        EXPECT_NEAR(union_bound(space, *path, t1) / error, 1.0, 1e-5) << space.describe() << ", " << path->name();
      }
}

TEST(DecisionTime, IsLaterForMoreVariablesAndSmallerErrors) {
  for (const auto& [path, t] : both_paths()) {
    const auto of = [&p = path](int64_t n, double error) {
      return decision_time(Space::sequence(n, 3), *p, error);
    };
    EXPECT_LT(of(10, 1e-5), of(1000, 1e-5));
    EXPECT_LT(of(10, 1e-5), of(10, 1e-7));
  }
}

TEST(DecisionTime, LeavesTheEndOfThePathOut) {
  // At t = 0.6 two labels are 5.6 standard deviations apart.
  EXPECT_LT(decision_time(Space::sequence(6, 2), *make_e_geodesic(0.01)), 0.6);
  EXPECT_GT(decision_time(Space::sequence(6, 2), *make_e_geodesic(0.01)), 0.3);
}

TEST(DecisionTime, LabelsReadThenAreTheLabelsDrawnThen) {
  const Space space = mixed_space();
  constexpr int64_t kDraws = 100'000;
  constexpr double kError = 1e-3;
  const auto labels = test::some_labels(space, kDraws);
  for (const auto& [path, t] : both_paths()) {
    const auto times = torch::full({kDraws}, decision_time(space, *path, kError), torch::kFloat64);
    const auto sample = sample_path(space, *path, labels, times, {1, Purpose::probe}, 0, WithVelocity::no);
    const auto wrong = (argmax_labels(space, sample.v_t) != labels).any(1).to(torch::kFloat64).mean().item<double>();
    // At most the bound (and its chance excess), yet of its size: the union bound is nearly sharp for rare errors.
    EXPECT_LT(wrong, kError + 5.0 * std::sqrt(kError / kDraws)) << path->name();
    EXPECT_GT(wrong, 0.5 * kError) << path->name();
  }
}

TEST(DecisionTime, AtTheDefaultErrorNothingIsMisreadInALargeDraw) {
  const Space space = mixed_space();
  constexpr int64_t kDraws = 20'000;  // expected misreads: at most 0.2
  const auto labels = test::some_labels(space, kDraws, 2);
  for (const auto& [path, t] : both_paths()) {
    const auto times = torch::full({kDraws}, decision_time(space, *path), torch::kFloat64);
    const auto sample = sample_path(space, *path, labels, times, {2, Purpose::probe}, 0, WithVelocity::no);
    EXPECT_TRUE(torch::equal(argmax_labels(space, sample.v_t), labels)) << path->name();
  }
}

}  // namespace
}  // namespace segre::decision_time_test
