#include "segre/path/simplex.h"

#include "segre/space/blocks.h"
#include "tests/support/support.h"

namespace segre::replicator_test {
namespace {

using test::max_difference;
using test::mixed_space;
using test::noise;

// Sums of a few dozen rounded float64 terms of size 1.
constexpr double kRounding = 1e-13;

TEST(Replicator, IsTangent) {
  const Space space = mixed_space();
  const auto W = lift(space, noise({4, space.n_coordinates()}));
  const auto moved = replicator(space, W, noise({4, space.n_coordinates()}, 2));
  const auto sums = reduce_blocks(space, {moved}, [](const auto& in) { return in[0].sum(-1); });
  EXPECT_LT(sums.abs().max().item<double>(), kRounding);
}

TEST(Replicator, IsSymmetricAndItsFormIsTheVariance) {
  const Space space = mixed_space();
  const auto W = lift(space, noise({4, space.n_coordinates()}));
  const auto x = noise({4, space.n_coordinates()}, 2);
  const auto y = noise({4, space.n_coordinates()}, 3);
  EXPECT_LT(max_difference((y * replicator(space, W, x)).sum(-1), (x * replicator(space, W, y)).sum(-1)), kRounding);
  EXPECT_LT(max_difference((x * replicator(space, W, x)).sum(-1), fisher_rao_norm(space, W, x).square()), kRounding);
}

TEST(Replicator, IgnoresConstantsPerVariable) {
  const Space space = mixed_space();
  const auto W = lift(space, noise({4, space.n_coordinates()}));
  const auto x = noise({4, space.n_coordinates()}, 2);
  const auto shifted = x + spread(space, 10.0 * noise({4, space.n_variables()}, 3));
  EXPECT_LT(max_difference(replicator(space, W, x), replicator(space, W, shifted)), 10 * kRounding);
}

TEST(Replicator, AgreesInFloat32WithinItsTolerance) {
  const Space space = mixed_space();
  const auto W = lift(space, noise({64, space.n_coordinates()}));
  const auto x = noise({64, space.n_coordinates()}, 2);
  const auto exact = replicator(space, W, x);
  const auto single = replicator(space, W.to(torch::kFloat32), x.to(torch::kFloat32)).to(torch::kFloat64);
  EXPECT_LT(max_difference(exact, single) / exact.abs().max().item<double>(), kReplicatorTol);
}

}  // namespace
}  // namespace segre::replicator_test
