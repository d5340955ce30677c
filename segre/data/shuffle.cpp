#include "segre/data/shuffle.h"

#include <bit>

#include "segre/core/error.h"
#include "segre/core/philox.h"

namespace segre {
namespace {

constexpr uint64_t kRounds = 8;  // with 4, one of five items is at some position up to a tenth too often

// Mixes (epoch, round, half) into 32 random bits. Each epoch has its own key.
uint32_t round_key(const RandomStream& random, uint64_t epoch, uint64_t round, uint64_t half) {
  const uint64_t key = random.seed + 0x9E3779B97F4A7C15u * (epoch + 1);
  return philox::block(key, random.stream, (round << 32) | half).word[0];
}

}  // namespace

int64_t shuffled(const RandomStream& random, uint64_t epoch, int64_t position, int64_t n) {
  // From a position outside, the loop might never come back below n.
  if (position < 0 || position >= n) fail("position ", position, " is outside a shuffle of ", n, " items");
  if (n == 1) return 0;
  const int half_bits = (std::bit_width(static_cast<uint64_t>(n - 1)) + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  auto value = static_cast<uint64_t>(position);
  do {
    uint64_t left = value >> half_bits;
    uint64_t right = value & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mixed = (left ^ round_key(random, epoch, round, right)) & mask;
      left = right;
      right = mixed;
    }
    value = (left << half_bits) | right;
  } while (value >= static_cast<uint64_t>(n));
  return static_cast<int64_t>(value);
}

}  // namespace segre
