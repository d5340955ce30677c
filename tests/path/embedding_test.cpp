#include "segre/path/simplex.h"

#include <cmath>

#include "tests/support/reference.h"

namespace segre::embedding_test {
namespace {

using test::labels_of;
using test::max_difference;
using test::Row;
using test::small_mixed_space;
using test::tangent_noise;
using test::values_of;

// Products of three and sums of 24 float64 numbers below 1.
constexpr double kRounding = 1e-14;

// prod_i W_{i, alpha_i} over x, y, z with 2, 3, 4 labels.
Row product_by_loops(const Row& W) {
  Row out;
  for (size_t x = 0; x < 2; ++x)
    for (size_t y = 0; y < 3; ++y)
      for (size_t z = 0; z < 4; ++z) out.push_back(W[x] * W[2 + y] * W[5 + z]);
  return out;
}

TEST(Embedding, IsTheProductOverVariablesAndSumsToOne) {
  const Space space = small_mixed_space();
  const auto v = tangent_noise(space, 3);
  const auto T = log_segre_map(space, v).exp();
  ASSERT_EQ(T.sizes(), (std::vector<int64_t>{3, 24}));
  for (int64_t b = 0; b < 3; ++b)
    EXPECT_LT(max_difference(T[b], test::tensor_of(product_by_loops(values_of(lift(space, v[b]))))), kRounding);
  EXPECT_LT(max_difference(T.sum(-1), torch::ones({3}, torch::kFloat64)), 10 * kRounding);
}

TEST(Embedding, AtLabelingsPicksFromTheWholeTable) {
  const Space space = small_mixed_space();
  const auto v = tangent_noise(space, 24);
  const auto all = enumerate_labelings(space);
  EXPECT_LT(max_difference(log_segre_at(space, v, all), log_segre_map(space, v).diagonal()), 10 * kRounding);
}

TEST(Embedding, KeepsLogarithmsWhereProductsVanish) {
  const Space space = Space::sequence(2000, 2);
  const auto labels = torch::zeros({1, 2000}, torch::kInt64);
  // 2,000 fair coins: probability 2^-2000 is not a float64, its logarithm is.
  EXPECT_NEAR(log_segre_at(space, torch::zeros({1, 4000}, torch::kFloat64), labels).item<double>(),
              -2000.0 * std::log(2.0), 1e-9);
}

TEST(Embedding, MarginalsOfAProductAreItsFactors) {
  const Space space = small_mixed_space();
  const auto v = tangent_noise(space, 3);
  EXPECT_LT(max_difference(marginalise(space, log_segre_map(space, v).exp()), lift(space, v)), 10 * kRounding);
}

TEST(Embedding, MarginalsSumOverTheOtherVariables) {
  const Space space = small_mixed_space();
  const auto p = test::random_joint(space).p;
  Row expected(9, 0.0);
  const auto at = values_of(p);
  for (size_t r = 0; r < 24; ++r) {
    expected[r / 12] += at[r];
    expected[2 + r / 4 % 3] += at[r];
    expected[5 + r % 4] += at[r];
  }
  EXPECT_LT(max_difference(marginalise(space, p), test::tensor_of(expected)), kRounding);
}

TEST(Embedding, MarginalsOfOneVariableAreItself) {
  const Space space = test::space_of({5});
  const auto p = test::random_joint(space).p;
  EXPECT_TRUE(torch::equal(marginalise(space, p), p));
}

TEST(Embedding, EntropyCountsZerosAsNothing) {
  const auto p = torch::tensor({0.5, 0.25, 0.25, 0.0}, torch::kFloat64);
  EXPECT_NEAR(joint_entropy(p).item<double>(), 1.5 * std::log(2.0), kRounding);
}

TEST(Embedding, ProductHasMostEntropyAmongJointsWithItsMarginals) {
  const Space space = Space::sequence(2, 2);
  const auto T = log_segre_map(space, tangent_noise(space, 1))[0].exp();
  // Every joint of two binary variables with these marginals is T + delta (+ - - +).
  const auto direction = torch::tensor({1.0, -1.0, -1.0, 1.0}, torch::kFloat64);
  const double most = joint_entropy(T).item<double>();
  const double room = T.min().item<double>();
  for (const double part : {-0.9, -0.1, -0.01, 0.01, 0.1, 0.9}) {
    const auto other = T + part * room * direction;
    EXPECT_LT(max_difference(marginalise(space, other), marginalise(space, T)), kRounding);
    EXPECT_LT(joint_entropy(other).item<double>(), most) << part;
  }
}

TEST(Embedding, TakesAnyBatchShape) {
  const Space space = small_mixed_space();
  const auto v = tangent_noise(space, 6).view({2, 3, 9});
  const auto T = log_segre_map(space, v);
  ASSERT_EQ(T.sizes(), (std::vector<int64_t>{2, 3, 24}));
  EXPECT_TRUE(torch::equal(T[1][2], log_segre_map(space, v[1][2])));
  EXPECT_TRUE(torch::equal(marginalise(space, T.exp())[1][2], marginalise(space, T[1][2].exp())));
}

}  // namespace
}  // namespace segre::embedding_test
