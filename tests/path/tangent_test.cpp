#include "segre/path/simplex.h"

#include "tests/support/reference.h"

namespace segre::tangent_test {
namespace {

using test::max_difference;
using test::mixed_space;
using test::noise;
using test::tangent_noise;

// Sums of a few hundred rounded float64 terms of size 1.
constexpr double kRounding = 1e-13;

TEST(Tangent, ProjectionTakesOffTheMeanOfEachVariable) {
  const Space space = mixed_space();
  // tangent_noise subtracts the means of noise({4, S}) by explicit loops.
  EXPECT_LT(max_difference(project(space, noise({4, space.n_coordinates()}, 3)), tangent_noise(space, 4, 3)),
            kRounding);
}

TEST(Tangent, ProjectionIsIdempotentAndSelfAdjoint) {
  const Space space = mixed_space();
  const auto x = noise({4, space.n_coordinates()});
  const auto y = noise({4, space.n_coordinates()}, 2);
  const auto projected = project(space, x);
  EXPECT_GT(max_difference(projected, x), 0.1);  // it has an effect
  EXPECT_LT(max_difference(project(space, projected), projected), kRounding);
  EXPECT_LT(max_difference((y * projected).sum(-1), (project(space, y) * x).sum(-1)), kRounding);
}

TEST(Tangent, ProjectionTakesAnyBatchShape) {
  const Space space = mixed_space();
  const auto x = noise({2, 3, space.n_coordinates()});
  EXPECT_TRUE(torch::equal(project(space, x)[1][2], project(space, x[1][2])));
}

TEST(Tangent, BasisIsOrthonormalAndSpansTheTangentSpace) {
  for (const int64_t c : {2, 3, 5, 16, 91}) {
    const auto Q = tangent_basis(c, torch::kFloat64);
    ASSERT_EQ(Q.sizes(), (std::vector<int64_t>{c, c - 1}));
    EXPECT_LT(max_difference(Q.t().mm(Q), torch::eye(c - 1, torch::kFloat64)), kRounding) << c;
    const auto pi_0 = torch::eye(c, torch::kFloat64) - 1.0 / static_cast<double>(c);
    EXPECT_LT(max_difference(Q.mm(Q.t()), pi_0), kRounding) << c;
  }
}

TEST(Tangent, BasisOfASingleLabelIsEmpty) {
  EXPECT_EQ(tangent_basis(1, torch::kFloat32).sizes(), (std::vector<int64_t>{1, 0}));
}

TEST(Tangent, SquaredNormSumsAllCoordinates) {
  const auto x = noise({2, 5});
  const auto at = test::values_of(x);
  double expected = 0.0;
  for (size_t k = 5; k < 10; ++k) expected += at[k] * at[k];
  EXPECT_NEAR(squared_norm(x)[1].item<double>(), expected, kRounding);
}

}  // namespace
}  // namespace segre::tangent_test
