#include "segre/core/philox.h"

#include <gtest/gtest.h>

#include <cmath>

namespace segre::philox::philox_test {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds). Its counter words are
// {counter low, counter high, stream low, stream high} here, its key words {seed low, seed high}.
struct KnownAnswer {
  uint64_t seed, stream, counter;
  uint32_t word[4];
};

constexpr KnownAnswer kKnownAnswers[] = {
    {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {~0ull, ~0ull, ~0ull, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(Philox, GivesThePublishedKnownAnswers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    const Block block = philox::block(known.seed, known.stream, known.counter);
    for (int k = 0; k < 4; ++k) EXPECT_EQ(block.word[k], known.word[k]) << "word " << k << ", seed " << known.seed;
  }
}

TEST(Philox, HighWordIsTheUpperHalfOfTheProduct) {
  EXPECT_EQ(high_word(0xffffffffu, 0xffffffffu), 0xfffffffeu);
  EXPECT_EQ(high_word(0x10000u, 0x10000u), 1u);
  EXPECT_EQ(high_word(0xffffu, 0x10000u), 0u);
}

TEST(Philox, UniformsReachTheirEndsAndNoFurther) {
  EXPECT_EQ(uniform(0u), 0.0f);
  EXPECT_EQ(uniform(0xffffffffu), 1.0f - 0x1p-24f);
  EXPECT_EQ(uniform(0x80000000u), 0.5f);
  EXPECT_EQ(uniform_open_zero(0u), 0x1p-32f);
  EXPECT_EQ(uniform_open_zero(0xffffffffu), 1.0f);
}

TEST(Philox, NormalPairIsBoxMullerInDouble) {
  // Radius up to 6.8 times the error of the angle's functions, plus the logarithm's relative error through the root.
  constexpr double kPairTol = 6.8 * (scalar_math::kSinCosTol + scalar_math::kLogTol);
  double worst = 0.0;
  for (uint64_t k = 0; k < 100'000; ++k) {
    const Block words = block(3, 1, k);
    float z_0;
    float z_1;
    normal_pair(words.word[0], words.word[1], z_0, z_1);
    const double radius = std::sqrt(-2.0 * std::log(static_cast<double>(uniform_open_zero(words.word[0]))));
    const double angle = 2.0 * 3.14159265358979323846 * static_cast<double>(uniform(words.word[1]));
    worst = std::max({worst, std::abs(z_0 - radius * std::cos(angle)), std::abs(z_1 - radius * std::sin(angle))});
  }
  EXPECT_LT(worst, kPairTol);
}

TEST(Philox, NormalPairIsFiniteAtTheExtremes) {
  for (const uint32_t word_0 : {0u, 1u, 0x7fffffffu, 0xffffffffu})
    for (const uint32_t word_1 : {0u, 0x3fffffffu, 0x80000000u, 0xffffffffu}) {
      float z_0;
      float z_1;
      normal_pair(word_0, word_1, z_0, z_1);
      EXPECT_LE(std::abs(z_0), 6.8f);  // the bound that philox.h promises
      EXPECT_LE(std::abs(z_1), 6.8f);
    }
}

}  // namespace
}  // namespace segre::philox::philox_test
