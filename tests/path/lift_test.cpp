#include "segre/path/simplex.h"

#include <cmath>

#include "segre/space/blocks.h"
#include "tests/support/reference.h"

namespace segre::lift_test {
namespace {

using test::max_difference;
using test::mixed_space;
using test::noise;
using test::Row;
using test::tangent_noise;
using test::values_of;

// A few dozen rounded float64 operations on numbers of size up to 10.
constexpr double kRounding = 1e-13;

// p e^u / <p, e^u> by loops, per variable.
Row lift_by_loops(const Space& space, const Row& p, const Row& u) {
  Row out(p.size());
  size_t first = 0;
  for (int64_t i = 0; first < p.size(); i = (i + 1) % space.n_variables()) {
    const auto c = static_cast<size_t>(space.n_labels(i));
    double total = 0.0;
    for (size_t k = first; k < first + c; ++k) total += p[k] * std::exp(u[k]);
    for (size_t k = first; k < first + c; ++k) out[k] = p[k] * std::exp(u[k]) / total;
    first += c;
  }
  return out;
}

torch::Tensor point(const Space& space, uint64_t seed) { return lift(space, tangent_noise(space, 4, seed)); }

double worst(const torch::Tensor& x, const Row& y) { return max_difference(x.flatten(), test::tensor_of(y)); }

TEST(Lift, IsSoftmaxPerVariable) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  EXPECT_LT(worst(lift(space, v), lift_by_loops(space, Row(v.numel(), 1.0), values_of(v))), kRounding);
  EXPECT_LT(max_difference(log_lift(space, v).exp(), lift(space, v)), kRounding);
}

TEST(Lift, InverseReturnsTheTangentVector) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4, 1, 3.0);
  EXPECT_LT(max_difference(inverse_lift(space, lift(space, v)), v), 10 * kRounding);
}

TEST(Lift, InverseReturnsThePoint) {
  const Space space = mixed_space();
  const auto W = point(space, 2);
  EXPECT_LT(max_difference(lift(space, inverse_lift(space, W)), W), kRounding);
}

TEST(Lift, LogarithmStaysExactWhereSinglePrecisionProbabilitiesVanish) {
  const Space space = Space::sequence(1, 2);
  const auto v = torch::tensor({{80.0f, -80.0f}});
  EXPECT_EQ(lift(space, v)[0][1].item<float>(), 0.0f);  // e^-160 is 0 in float32, so the state is v
  const auto log_W = log_lift(space, v);
  EXPECT_FLOAT_EQ(log_W[0][1].item<float>(), -160.0f);
  const auto mixed = mixed_space();
  EXPECT_TRUE(log_lift(mixed, tangent_noise(mixed, 64, 1, 20.0).clamp(-80, 80).to(torch::kFloat32))
                  .isfinite()
                  .all()
                  .item<bool>());
}

TEST(Lift, AtAPointMultipliesItsWeights) {
  const Space space = mixed_space();
  const auto p = point(space, 2);
  const auto u = tangent_noise(space, 4, 3);
  EXPECT_LT(worst(lift_at(space, p, u), lift_by_loops(space, values_of(p), values_of(u))), kRounding);
}

TEST(Lift, AtAPointIsTheExponentialMapAfterTheReplicator) {
  const Space space = mixed_space();
  const auto p = point(space, 2);
  const auto u = tangent_noise(space, 4, 3);
  EXPECT_LT(max_difference(e_exponential(space, p, replicator(space, p, u)), lift_at(space, p, u)), kRounding);
}

TEST(Lift, InverseAtAPointIsInverseBothWays) {
  const Space space = mixed_space();
  const auto p = point(space, 2);
  const auto q = point(space, 3);
  const auto u = tangent_noise(space, 4, 4);
  EXPECT_LT(max_difference(lift_at(space, p, inverse_lift_at(space, p, q)), q), kRounding);
  EXPECT_LT(max_difference(inverse_lift_at(space, p, lift_at(space, p, u)), u), 10 * kRounding);
}

TEST(Lift, EGeodesicJoinsItsEndsByAStraightLineInTangentCoordinates) {
  const Space space = mixed_space();
  const auto p = point(space, 2);
  const auto q = point(space, 3);
  EXPECT_LT(max_difference(e_geodesic(space, p, q, 0.0), p), kRounding);
  EXPECT_LT(max_difference(e_geodesic(space, p, q, 1.0), q), kRounding);
  for (const double t : {0.25, 0.7, 1.5}) {
    const auto at = e_geodesic(space, p, q, t);
    EXPECT_LT(max_difference(at, lift_at(space, p, t * inverse_lift_at(space, p, q))), kRounding);
    const auto line = (1.0 - t) * inverse_lift(space, p) + t * inverse_lift(space, q);
    EXPECT_LT(max_difference(inverse_lift(space, at), line), 10 * kRounding);
  }
}

TEST(Lift, DerivativeAlongAVectorIsTheReplicator) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const auto u = tangent_noise(space, 4, 2);
  constexpr double kStep = 1e-5;
  // Central differences: h^2 times a third derivative of size 1, and rounding 1e-16 / h.
  constexpr double kDifferenceTol = 1e-9;
  const auto slope = (lift(space, v + kStep * u) - lift(space, v - kStep * u)) / (2.0 * kStep);
  EXPECT_LT(max_difference(slope, replicator(space, lift(space, v), u)), kDifferenceTol);
}

TEST(Lift, EntropyIsThatOfThePoint) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4, 1, 2.0);
  const auto W = lift_by_loops(space, Row(v.numel(), 1.0), values_of(v));
  const auto found = values_of(entropy(space, v));
  size_t k = 0;
  for (size_t variable = 0; variable < found.size(); ++variable) {
    double expected = 0.0;
    for (int64_t j = 0; j < space.n_labels(static_cast<int64_t>(variable) % space.n_variables()); ++j, ++k)
      expected -= W[k] * std::log(W[k]);
    EXPECT_NEAR(found[variable], expected, kRounding);
  }
  EXPECT_NEAR(entropy(space, torch::zeros({20}, torch::kFloat64))[4].item<double>(), std::log(7.0), kRounding);
}

TEST(Lift, TakesAnyBatchShape) {
  const Space space = mixed_space();
  const auto v = noise({2, 3, space.n_coordinates()});
  EXPECT_TRUE(torch::equal(lift(space, v)[1][2], lift(space, v[1][2])));
  EXPECT_TRUE(torch::equal(entropy(space, v)[1][2], entropy(space, v[1][2])));
}

TEST(Lift, CudaAgreesWithTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 64);
  const auto p = lift(space, v);
  const auto x = noise({64, space.n_coordinates()}, 2);
  EXPECT_LT(max_difference(lift(space, v.cuda()).cpu(), p), kRounding);
  EXPECT_LT(max_difference(inverse_lift(space, p.cuda()).cpu(), v), 10 * kRounding);
  EXPECT_LT(max_difference(replicator(space, p.cuda(), x.cuda()).cpu(), replicator(space, p, x)), kRounding);
  EXPECT_LT(max_difference(project(space, x.cuda()).cpu(), project(space, x)), kRounding);
  EXPECT_LT(max_difference(entropy(space, v.cuda()).cpu(), entropy(space, v)), kRounding);
}

}  // namespace
}  // namespace segre::lift_test
