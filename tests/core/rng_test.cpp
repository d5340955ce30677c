#include "segre/core/rng.h"

#include <cmath>
#include <set>

#include "segre/core/philox.h"
#include "tests/support/support.h"
#include "tests/support/threads.h"

namespace segre::rng_test {
namespace {

const RandomStream kStream{42, Purpose::training_noise};
// Offsets that are not multiples of 4 start inside a block; the last ones have counters above 32 bits.
constexpr uint64_t kOffsets[] = {0, 1, 2, 3, 5, 63, 64, 66, 12'345'678'901ull, (uint64_t{1} << 35) - 3};
constexpr int64_t kLengths[] = {1, 3, 61, 64, 65, 257, 1000};
// Five standard errors: a false alarm once in 1.7 million seeds, and the seed is fixed.
constexpr double kSigmas = 5.0;

float scalar_normal(const RandomStream& random, uint64_t index) {
  const philox::Block words = philox::block(random.seed, random.stream, index / 4);
  float z[4];
  philox::normal_pair(words.word[0], words.word[1], z[0], z[1]);
  philox::normal_pair(words.word[2], words.word[3], z[2], z[3]);
  return z[index % 4];
}

float scalar_uniform(const RandomStream& random, uint64_t index) {
  return philox::uniform(philox::block(random.seed, random.stream, index / 4).word[index % 4]);
}

TEST(Rng, VectorisedFillsEqualTheScalarFunctionsBitForBit) {
  for (const uint64_t offset : kOffsets)
    for (const int64_t length : kLengths) {
      const auto normal = fill_normal(torch::empty({length}), kStream, offset);
      const auto uniform = fill_uniform(torch::empty({length}), kStream, offset);
      for (int64_t k = 0; k < length; ++k) {
        const uint64_t index = offset + static_cast<uint64_t>(k);
        ASSERT_EQ(normal.data_ptr<float>()[k], scalar_normal(kStream, index)) << "index " << index;
        ASSERT_EQ(uniform.data_ptr<float>()[k], scalar_uniform(kStream, index)) << "index " << index;
      }
    }
}

TEST(Rng, NumbersDoNotDependOnHowTheyAreSplitIntoBatches) {
  constexpr int64_t kCount = 100'003;
  const auto whole = fill_normal(torch::empty({kCount}), kStream, 7);
  int64_t done = 0;
  for (const int64_t part : {1, 2, 3, 4, 50'000, 49'993}) {
    const auto piece = fill_normal(torch::empty({part}), kStream, 7 + static_cast<uint64_t>(done));
    EXPECT_TRUE(torch::equal(piece, whole.narrow(0, done, part))) << "from " << done;
    done += part;
  }
  EXPECT_EQ(done, kCount);
}

TEST(Rng, NumbersDoNotDependOnTheNumberOfThreads) {
  const auto with = [](int count) {
    const test::Threads threads(count);
    return fill_normal(torch::empty({200'001}), kStream, 3);
  };
  EXPECT_TRUE(torch::equal(with(1), with(2)));
}

TEST(Rng, NormalsHaveTheMomentsOfTheStandardNormal) {
  constexpr int64_t kCount = 4'000'000;
  const double root = std::sqrt(static_cast<double>(kCount));
  const auto z = fill_normal(torch::empty({kCount}, torch::kFloat64), kStream, 1);
  EXPECT_LT(std::abs(z.mean().item<double>()), kSigmas / root);
  EXPECT_LT(std::abs(z.square().mean().item<double>() - 1.0), kSigmas * std::sqrt(2.0) / root);  // Var z^2 = 2
  EXPECT_LT(std::abs(z.pow(3).mean().item<double>()), kSigmas * std::sqrt(15.0) / root);         // Var z^3 = 15
  EXPECT_LT(std::abs(z.pow(4).mean().item<double>() - 3.0), kSigmas * std::sqrt(96.0) / root);   // Var z^4 = 96
  for (const int64_t lag : {1, 2, 3, 4, 64}) {
    const auto product = z.narrow(0, 0, kCount - lag) * z.narrow(0, lag, kCount - lag);
    EXPECT_LT(std::abs(product.mean().item<double>()), kSigmas / root) << "lag " << lag;
  }
}

TEST(Rng, UniformsFillTheUnitIntervalInStepsOf24Bits) {
  constexpr int64_t kCount = 1'000'000;
  const auto u = fill_uniform(torch::empty({kCount}, torch::kFloat64), kStream, 0);
  EXPECT_GE(u.min().item<double>(), 0.0);
  EXPECT_LT(u.max().item<double>(), 1.0);
  EXPECT_LT(u.min().item<double>(), 1e-4);  // missed by all with probability e^-100
  EXPECT_GT(u.max().item<double>(), 1.0 - 1e-4);
  const auto steps = u * 0x1p24;
  EXPECT_TRUE(torch::equal(steps, steps.floor()));
  const double root = std::sqrt(static_cast<double>(kCount));
  EXPECT_LT(std::abs(u.mean().item<double>() - 0.5), kSigmas / std::sqrt(12.0) / root);
}

TEST(Rng, SeedsAndPurposesGiveUnrelatedNumbers) {
  constexpr int64_t kCount = 100'000;
  const auto z = fill_normal(torch::empty({kCount}), kStream, 0);
  const RandomStream others[] = {
      {43, Purpose::training_noise}, {42, Purpose::sampling_noise}, {42ull << 32, Purpose::training_noise}};
  for (const RandomStream& other : others) {
    const auto y = fill_normal(torch::empty({kCount}), other, 0);
    EXPECT_LT((z == y).sum().item<int64_t>(), 10);  // equal 24-bit numbers are rare by chance
    EXPECT_LT(std::abs((z * y).mean().item<double>()), kSigmas / std::sqrt(static_cast<double>(kCount)));
  }
}

TEST(Rng, DoublesReceiveTheSingles) {
  const auto single = fill_normal(torch::empty({77}), kStream, 5);
  const auto twice = fill_normal(torch::empty({77}, torch::kFloat64), kStream, 5);
  EXPECT_TRUE(torch::equal(single.to(torch::kFloat64), twice));
}

TEST(Rng, UniformDoubleUsesAllBitsOfItsMantissa) {
  double sum = 0.0;
  std::set<double> seen;
  int64_t odd = 0;
  constexpr int kCount = 100'000;
  for (uint64_t k = 0; k < kCount; ++k) {
    const double u = uniform_double(kStream, k);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    seen.insert(u);
    odd += static_cast<int64_t>(u * 0x1p53) & 1;
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kCount));
  EXPECT_LT(std::abs(sum / kCount - 0.5), kSigmas / std::sqrt(12.0 * kCount));
  EXPECT_LT(std::abs(static_cast<double>(odd) / kCount - 0.5), kSigmas * 0.5 / std::sqrt(kCount));
}

TEST(Rng, UniformDoubleIsMadeOfTwoWordsOfItsBlock) {
  for (uint64_t k = 0; k < 100; ++k) {
    const philox::Block block = philox::block(kStream.seed, kStream.stream, k);
    const double expected = std::ldexp(block.word[0], -32) + std::ldexp(block.word[1] >> 11, -53);  // 32 bits and 21
    EXPECT_EQ(uniform_double(kStream, k), expected) << k;
  }
}

TEST(Rng, RefusesTensorsItCannotFill) {
  EXPECT_THROW(fill_normal(torch::empty({4, 4}).t().slice(0, 0, 2), kStream, 0), Error);
  EXPECT_THROW(fill_normal(torch::empty({4}, torch::kInt64), kStream, 0), Error);
}

TEST(Rng, CudaGivesTheBitsOfTheCpu_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  for (const uint64_t offset : kOffsets)
    for (const int64_t length : {1, 3, 65, 100'003}) {
      const auto normal = fill_normal(torch::empty({length}, torch::kCUDA), kStream, offset);
      const auto uniform = fill_uniform(torch::empty({length}, torch::kCUDA), kStream, offset);
      EXPECT_TRUE(torch::equal(normal.cpu(), fill_normal(torch::empty({length}), kStream, offset))) << offset;
      EXPECT_TRUE(torch::equal(uniform.cpu(), fill_uniform(torch::empty({length}), kStream, offset))) << offset;
    }
}

TEST(Rng, TheFirstIndexMayLieInMemory) {
  const auto expected = fill_normal(torch::empty({37}), kStream, 1001);
  const auto index = torch::tensor({1001}, torch::kInt64);
  EXPECT_TRUE(torch::equal(fill_normal(torch::empty({37}), kStream, index), expected));
  for (const auto type : {torch::kFloat32, torch::kFloat64})
    EXPECT_TRUE(torch::equal(fill_uniform(torch::empty({37}, type), kStream, index),
                             fill_uniform(torch::empty({37}, type), kStream, 1001)))
        << type;
}

TEST(Rng, TheFirstIndexMayLieInMemoryOfTheDevice_CUDA) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  const auto index = torch::tensor({int64_t{1} << 40}, torch::kInt64).to(torch::kCUDA);
  const auto found = fill_normal(torch::empty({1003}, torch::kCUDA), kStream, index);
  EXPECT_TRUE(torch::equal(found.cpu(), fill_normal(torch::empty({1003}), kStream, uint64_t{1} << 40)));
  const auto uniform = fill_uniform(torch::empty({1003}, torch::kCUDA), kStream, index);
  EXPECT_TRUE(torch::equal(uniform.cpu(), fill_uniform(torch::empty({1003}), kStream, uint64_t{1} << 40)));
}

}  // namespace
}  // namespace segre::rng_test
