#include "segre/path/path.h"

#include <cmath>
#include <limits>

#include "segre/path/e_geodesic.h"
#include "segre/path/ray.h"
#include "segre/path/simplex.h"
#include "tests/support/reference.h"

namespace segre::path_test {
namespace {

using test::both_paths;
using test::input_error;
using test::max_difference;
using test::mixed_space;
using test::noise;
using test::some_labels;
using test::tangent_noise;

// A few dozen rounded float64 operations on numbers of size up to 10.
constexpr double kRounding = 1e-13;

TEST(Path, CornerScalesAreThePrintedOnes) {
  const auto path = make_e_geodesic(0.01);
  constexpr double kPrinted = 0.005;  // half of the last printed digit
  EXPECT_NEAR(path->corner_scale(2), 5.29, kPrinted);
  EXPECT_NEAR(path->corner_scale(8), 6.68, kPrinted);
  EXPECT_NEAR(path->corner_scale(91), 9.11, kPrinted);
}

TEST(Path, CornersOfTheEGeodesicAreSmoothedOneHotVectors) {
  const Space space = mixed_space();
  constexpr double kEps = 0.01;
  const auto labels = some_labels(space, 6);
  const auto q = lift(space, corners(space, *make_e_geodesic(kEps), labels, torch::kFloat64));
  const auto at = q.accessor<double, 2>();
  for (int64_t b = 0; b < 6; ++b)
    for (int64_t i = 0, k = 0; i < space.n_variables(); ++i)
      for (int64_t j = 0; j < space.n_labels(i); ++j, ++k) {
        const double hot = labels[b][i].item<int64_t>() == j ? 1.0 : 0.0;
        EXPECT_NEAR(at[b][k], kEps / static_cast<double>(space.n_labels(i)) + (1.0 - kEps) * hot, kRounding);
      }
}

TEST(Path, CornersAreTangentAndFollowTheirFormula) {
  const Space space = mixed_space();
  const auto labels = some_labels(space, 6);
  for (const auto& [path, t] : both_paths()) {
    const auto u = corners(space, *path, labels, torch::kFloat64);
    EXPECT_LT(max_difference(project(space, u), u), kRounding);
    for (int64_t b = 0; b < 6; ++b)
      EXPECT_LT(max_difference(u[b], test::tensor_of(test::corner_by_loops(space, *path, test::labels_of(labels[b])))),
                kRounding);
  }
}

TEST(Path, CornersOfTheRayHaveLengthOne) {
  const auto path = make_ray(0.5);
  for (const int64_t c : {2, 3, 8, 91, 1000}) {
    const Space space = Space::sequence(1, c);
    const auto u = corners(space, *path, torch::full({1, 1}, c - 1, torch::kInt64), torch::kFloat64);
    EXPECT_NEAR(squared_norm(u).item<double>(), 1.0, kRounding) << c;
  }
  EXPECT_EQ(path->corner_scale(1), 0.0);  // nothing to decide, and no division by 0
}

TEST(Path, CoefficientsAreTheirFormulas) {
  const auto line = make_e_geodesic(0.01)->at(0.3);
  EXPECT_DOUBLE_EQ(line.a, 0.3);
  EXPECT_DOUBLE_EQ(line.s, 0.7);
  const auto ray = make_ray(0.5)->at(3.0);
  EXPECT_DOUBLE_EQ(ray.a, 1.5);
  EXPECT_DOUBLE_EQ(ray.s, 1.0);
  EXPECT_EQ(make_e_geodesic(0.01)->t_end(), 1.0);
  EXPECT_EQ(make_ray(0.5)->t_end(), std::numeric_limits<double>::infinity());
}

TEST(Path, SlopesAreDerivativesAndTensorsAgreeWithNumbers) {
  constexpr double kStep = 1e-6;
  constexpr double kDifferenceTol = 1e-9;  // rounding 1e-16 / h; both paths are linear in t
  for (const auto& [path, t] : both_paths()) {
    const auto at = path->at(t);
    EXPECT_NEAR(at.da, (path->at(t + kStep).a - path->at(t - kStep).a) / (2 * kStep), kDifferenceTol);
    EXPECT_NEAR(at.ds, (path->at(t + kStep).s - path->at(t - kStep).s) / (2 * kStep), kDifferenceTol);
    const auto tensor = path->at(torch::tensor({0.1, t}, torch::kFloat64));
    EXPECT_DOUBLE_EQ(tensor.a[1].item<double>(), at.a);
    EXPECT_DOUBLE_EQ(tensor.s[1].item<double>(), at.s);
    EXPECT_DOUBLE_EQ(tensor.da[1].item<double>(), at.da);
    EXPECT_DOUBLE_EQ(tensor.ds[1].item<double>(), at.ds);
  }
}

TEST(Path, ScalesBelongToTheirVariables) {
  const Space space = mixed_space();
  for (const auto& [path, t] : both_paths()) {
    const auto per_variable = variable_scales(space, *path, torch::kFloat64);
    const auto per_coordinate = corner_scales(space, *path, torch::kFloat64);
    const auto e = evidence_scale(space, *path, torch::tensor({t}, torch::kFloat64));
    for (int64_t i = 0; i < space.n_variables(); ++i) {
      const double kappa = path->corner_scale(space.n_labels(i));
      EXPECT_EQ(per_variable[i].item<double>(), kappa);
      for (int64_t k = space.offset(i); k < space.offset(i) + space.n_labels(i); ++k) {
        EXPECT_EQ(per_coordinate[k].item<double>(), kappa);
        EXPECT_NEAR(e[0][k].item<double>(), kappa * path->at(t).a / std::pow(path->at(t).s, 2), kRounding);
      }
    }
    EXPECT_EQ(evidence_scale(space, *path, torch::tensor(t)).sizes(), (std::vector<int64_t>{20}));
  }
}

TEST(Path, EvidenceIsTheLogLikelihoodRatioOfLabels) {
  // log N(v; a u_j, s^2) - log N(v; a u_k, s^2) of one variable with 5 labels.
  const Space space = Space::sequence(1, 5);
  const auto v = tangent_noise(space, 1);
  for (const auto& [path, t] : both_paths()) {
    const auto e = (v * evidence_scale(space, *path, torch::tensor({t}, torch::kFloat64)))[0];
    const auto at = path->at(t);
    const auto u = corners(space, *path, torch::arange(5).unsqueeze(1), torch::kFloat64);
    const auto log_density = -0.5 * squared_norm(v - at.a * u) / (at.s * at.s);
    EXPECT_LT(max_difference(e - e[0], log_density - log_density[0]), 10 * kRounding);
  }
}

TEST(Path, VelocityAndEndpointConvertIntoEachOther) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 4);
  const auto D = tangent_noise(space, 4, 2);
  for (const auto& [path, t] : both_paths()) {
    const auto times = t * torch::tensor({0.1, 0.5, 1.0, 1.5}, torch::kFloat64);
    const auto F = velocity_from_endpoint(*path, D, v, times);
    EXPECT_LT(max_difference(endpoint_from_velocity(*path, F, v, times), D), 10 * kRounding);
    // One time for all items is the same as that time for each.
    const auto one = torch::full({1}, t, torch::kFloat64);
    EXPECT_TRUE(
        torch::equal(velocity_from_endpoint(*path, D, v, one), velocity_from_endpoint(*path, D, v, one.expand({4}))));
  }
}

TEST(Path, VelocityOnTheEGeodesicPointsAtTheEndpoint) {
  const Space space = mixed_space();
  const auto v = tangent_noise(space, 2);
  const auto D = tangent_noise(space, 2, 2);
  const auto F = velocity_from_endpoint(*make_e_geodesic(0.01), D, v, torch::tensor({0.2, 0.8}, torch::kFloat64));
  EXPECT_LT(max_difference(F[0], (D[0] - v[0]) / 0.8), kRounding);
  EXPECT_LT(max_difference(F[1], (D[1] - v[1]) / 0.2), 10 * kRounding);
}

TEST(Path, RefusesParametersOutOfRange) {
  EXPECT_EQ(input_error([] { make_e_geodesic(1.0); }), "path.eps = 1: expected a number between 0 and 1");
  EXPECT_EQ(input_error([] { make_e_geodesic(0.0); }), "path.eps = 0: expected a number between 0 and 1");
  EXPECT_NE(input_error([] { make_e_geodesic(std::nan("")); }), "");
  EXPECT_EQ(input_error([] { make_ray(0.0); }), "path.rate = 0: expected a number above 0");
}

}  // namespace
}  // namespace segre::path_test
