#include "segre/net/layers.h"

#include <cmath>
#include <numbers>

#include "tests/support/support.h"

namespace segre::layers_test {
namespace {

TEST(Layers, TimeFeaturesAreSinesThenCosines) {
  const auto t = torch::tensor({0.0, 0.3, 1.0, 7.5}, torch::kFloat64);
  const auto features = time_features(t, 3);
  ASSERT_EQ(features.sizes(), (std::vector<int64_t>{4, 6}));
  for (int64_t b = 0; b < 4; ++b)
    for (int64_t k = 0; k < 3; ++k) {
      const double angle = static_cast<double>(k + 1) * std::numbers::pi * t[b].item<double>() / 2.0;
      EXPECT_NEAR(features[b][k].item<double>(), std::sin(angle), 1e-13);  // angles up to 36 in float64
      EXPECT_NEAR(features[b][k + 3].item<double>(), std::cos(angle), 1e-13);
    }
}

TEST(Layers, WeightsComeFromConsecutiveStretchesOfOneStream) {
  WeightSource source(7);
  const auto first = source.normal({3, 5});
  const auto second = source.uniform({4}, 0.25);
  const auto third = source.normal({2});
  const RandomStream random{7, Purpose::initial_weights};
  EXPECT_TRUE(torch::equal(first.flatten(), fill_normal(torch::empty({15}), random, 0)));
  EXPECT_TRUE(torch::allclose(second, 0.5 * fill_uniform(torch::empty({4}), random, 15) - 0.25));
  EXPECT_TRUE(torch::equal(third, fill_normal(torch::empty({2}), random, 19)));
}

TEST(Layers, UniformWeightsFillTheirInterval) {
  WeightSource source(1);
  const auto weights = source.uniform({10'000}, 0.25);
  EXPECT_GE(weights.min().item<double>(), -0.25);
  EXPECT_LE(weights.max().item<double>(), 0.25);
  EXPECT_LT(weights.min().item<double>(), -0.249);  // missed with probability e^-20
  EXPECT_GT(weights.max().item<double>(), 0.249);
}

}  // namespace
}  // namespace segre::layers_test
