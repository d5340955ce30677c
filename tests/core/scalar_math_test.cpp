#include "segre/core/scalar_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace segre::scalar_math::scalar_math_test {
namespace {

TEST(ScalarMath, ExpHoldsItsRelativeErrorOnItsWholeRange) {
  double worst = 0.0;
  for (int k = -870'000; k <= 870'000; ++k) {
    const auto x = static_cast<float>(k * 1e-4);
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(scalar_math::exp(x)) - exact) / exact);
  }
  EXPECT_LT(worst, kExpTol);
  EXPECT_GT(worst, 0.0);  // an empty loop would report 0
}

TEST(ScalarMath, ExpIsZeroBelowItsRangeAndFiniteAbove) {
  EXPECT_EQ(scalar_math::exp(-87.4f), 0.0f);
  EXPECT_EQ(scalar_math::exp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(scalar_math::exp(0.0f), 1.0f);
  EXPECT_EQ(scalar_math::exp(1000.0f), scalar_math::exp(88.0f));
  EXPECT_TRUE(std::isfinite(scalar_math::exp(std::numeric_limits<float>::infinity())));
}

TEST(ScalarMath, LogHoldsItsErrorOnAllMagnitudes) {
  double worst = 0.0;
  const int32_t first = bits_from_float(std::numeric_limits<float>::min());
  const int32_t last = bits_from_float(std::numeric_limits<float>::max());
  constexpr int32_t kStride = 997;  // prime, so that all mantissa patterns occur
  for (int32_t bits = first; bits < last - kStride; bits += kStride) {
    const float x = float_from_bits(bits);
    const double exact = std::log(static_cast<double>(x));
    worst =
        std::max(worst, std::abs(static_cast<double>(scalar_math::log(x)) - exact) / std::max(1.0, std::abs(exact)));
  }
  EXPECT_LT(worst, kLogTol);
  EXPECT_GT(worst, 0.0);
}

TEST(ScalarMath, LogKeepsItsRelativeAccuracyNearOne) {
  double worst = 0.0;
  const int32_t one = bits_from_float(1.0f);
  for (int32_t distance = -200'000; distance <= 200'000; ++distance) {  // 0.988 to 1.024
    if (distance == 0) continue;
    const float x = float_from_bits(one + distance);
    const double exact = std::log(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(scalar_math::log(x)) - exact) / std::abs(exact));
  }
  EXPECT_LT(worst, kLogTol);
  EXPECT_EQ(scalar_math::log(1.0f), 0.0f);
}

TEST(ScalarMath, SineAndCosineOfFullTurnsHoldTheirError) {
  double worst = 0.0;
  for (int32_t k = 0; k < (1 << 24); k += 5) {  // the 24-bit uniforms they are used with
    const float x = static_cast<float>(k) * 0x1p-24f;
    float sine;
    float cosine;
    sincos_2pi(x, sine, cosine);
    const double angle = 2.0 * 3.14159265358979323846 * static_cast<double>(x);
    worst = std::max({worst, std::abs(static_cast<double>(sine) - std::sin(angle)),
                      std::abs(static_cast<double>(cosine) - std::cos(angle))});
  }
  EXPECT_LT(worst, kSinCosTol);
  EXPECT_GT(worst, 0.0);
}

}  // namespace
}  // namespace segre::scalar_math::scalar_math_test
