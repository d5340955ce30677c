#pragma once  // internal

// Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3; SC 2011): a random number is
// a pure function of a key and a counter. No state, so nothing to share, save or get out of sync.

#include <cstdint>

#include "segre/core/scalar_math.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include <cmath>
#endif

namespace segre::philox {

inline constexpr uint32_t kMultiplier0 = 0xD2511F53u;
inline constexpr uint32_t kMultiplier2 = 0xCD9E8D57u;
inline constexpr uint32_t kWeyl0 = 0x9E3779B9u;
inline constexpr uint32_t kWeyl1 = 0xBB67AE85u;

/// The upper 32 bits of the 64-bit product.
SEGRE_HOST_DEVICE uint32_t high_word(uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} * b) >> 32); }

/// Four independent uniform 32-bit words.
struct Block {
  uint32_t word[4];
};

/// Block number `counter` of stream `stream` under `seed`.
SEGRE_HOST_DEVICE Block block(uint64_t seed, uint64_t stream, uint64_t counter) {
  uint32_t c0 = static_cast<uint32_t>(counter);
  uint32_t c1 = static_cast<uint32_t>(counter >> 32);
  uint32_t c2 = static_cast<uint32_t>(stream);
  uint32_t c3 = static_cast<uint32_t>(stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed);
  uint32_t k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint32_t n0 = high_word(kMultiplier2, c2) ^ c1 ^ k0;
    const uint32_t n2 = high_word(kMultiplier0, c0) ^ c3 ^ k1;
    c1 = kMultiplier2 * c2;
    c3 = kMultiplier0 * c0;
    c0 = n0;
    c2 = n2;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

/// Uniform on (0, 1]: never 0, so that its logarithm is finite. float32 keeps the 24 leading bits.
SEGRE_HOST_DEVICE float uniform_open_zero(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 1)) * 4.65661287e-10f + 2.32830644e-10f;
}

/// Uniform on [0, 1) with 24 bits.
SEGRE_HOST_DEVICE float uniform(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 5.96046448e-8f;
}

/// Two independent standard normals from two words (Box and Muller). |z| <= 6.8.
SEGRE_HOST_DEVICE void normal_pair(uint32_t word_0, uint32_t word_1, float& z_0, float& z_1) {
  const float minus_2_log = -2.0f * scalar_math::log(uniform_open_zero(word_0));
#ifdef __CUDA_ARCH__
  const float radius = __fsqrt_rn(minus_2_log > 0.0f ? minus_2_log : 0.0f);
#else
  const float radius = __builtin_sqrtf(minus_2_log > 0.0f ? minus_2_log : 0.0f);
#endif
  float sine;
  float cosine;
  scalar_math::sincos_2pi(uniform(word_1), sine, cosine);
  z_0 = radius * cosine;
  z_1 = radius * sine;
}

}  // namespace segre::philox
