#include "segre/net/linear.h"
#include "segre/net/net_kinds.h"

#include <cmath>

#include "tests/support/reference.h"

namespace segre::linear_test {
namespace {

using test::noise;

NetOptions options_with(int64_t time_features) {
  NetOptions options;
  options.kind = "linear";
  options.time_features = time_features;
  return options;
}

TEST(Linear, HasOneMatrixAndNoBias) {
  const LinearField field(test::mixed_space(), options_with(0), 1);
  ASSERT_EQ(field.parameters().size(), 1u);
  EXPECT_EQ(field.parameters()[0].first, "weight");
  EXPECT_EQ(field.parameters()[0].second.sizes(), (std::vector<int64_t>{20, 20}));
  EXPECT_LE(field.parameters()[0].second.abs().max().item<double>(), 1.0 / std::sqrt(20.0));
}

TEST(Linear, WithTimeItHasASecondMatrix) {
  const LinearField field(test::mixed_space(), options_with(3), 1);
  ASSERT_EQ(field.parameters().size(), 2u);
  EXPECT_EQ(field.parameters()[1].first, "time_weight");
  EXPECT_EQ(field.parameters()[1].second.sizes(), (std::vector<int64_t>{20, 6}));
}

TEST(Linear, IsTheMatrixTimesThePointPlusTheTimeRows) {
  LinearField field(test::small_mixed_space(), options_with(1), 1);
  test::to_double(field);
  const auto W = noise({2, 9});
  const double t = 0.3;
  const auto out = field.forward({W, torch::full({2}, t, torch::kFloat64)});
  const auto& A = field.parameters()[0].second;
  const auto& B = field.parameters()[1].second;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t k = 0; k < 9; ++k) {
      double expected =
          B[k][0].item<double>() * std::sin(M_PI * t / 2) + B[k][1].item<double>() * std::cos(M_PI * t / 2);
      for (int64_t j = 0; j < 9; ++j) expected += A[k][j].item<double>() * W[b][j].item<double>();
      EXPECT_NEAR(out[b][k].item<double>(), expected, 1e-14);  // eleven float64 products of size 1
    }
}

}  // namespace
}  // namespace segre::linear_test
