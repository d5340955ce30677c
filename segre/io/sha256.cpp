#include "segre/io/sha256.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>

namespace segre {
namespace {

constexpr size_t kBlock = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<uint32_t, 8>;

void add_block(State& state, const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (size_t k = 0; k < 16; ++k)
    w[k] = uint32_t{block[4 * k]} << 24 | uint32_t{block[4 * k + 1]} << 16 | uint32_t{block[4 * k + 2]} << 8 |
           block[4 * k + 3];
  for (size_t k = 16; k < 64; ++k) {
    const uint32_t a = w[k - 15];
    const uint32_t b = w[k - 2];
    w[k] = w[k - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[k - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto s = state;
  for (size_t k = 0; k < 64; ++k) {
    const uint32_t e = s[4];
    const uint32_t a = s[0];
    const uint32_t t1 =
        s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + kRounds[k] + w[k];
    const uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {t1 + t2, a, s[1], s[2], s[3] + t1, e, s[5], s[6]};
  }
  for (size_t k = 0; k < 8; ++k) state[k] += s[k];
}

void add_blocks_plain(State& state, const uint8_t* blocks, size_t count) {
  for (size_t k = 0; k < count; ++k) add_block(state, blocks + kBlock * k);
}

#ifdef __x86_64__

bool has_instructions() {
  constexpr unsigned kSsse3 = 1U << 9, kSse41 = 1U << 19;  // of leaf 1, register ECX
  constexpr unsigned kSha = 1U << 29;                      // of leaf 7, register EBX
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSsse3) == 0 || (c & kSse41) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

// The instructions do two rounds at a time on the words a b e f and c d g h of the state, the first in the highest
// lane.
__attribute__((target("sha,sse4.1"))) void add_blocks_fast(State& state, const uint8_t* blocks, size_t count) {
  const auto* constants = reinterpret_cast<const __m128i*>(kRounds.data());
  auto* const words = reinterpret_cast<__m128i*>(state.data());
  const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);
  for (; count > 0; --count, blocks += kBlock) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];  // the message's next sixteen words
    for (int k = 0; k < 4; ++k)
      w[k] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + k), big_endian);
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) {  // four rounds each
      const __m128i sum = _mm_add_epi32(w[k % 4], _mm_loadu_si128(constants + k));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
      const __m128i last = w[(k + 3) % 4];
      const __m128i seventh = _mm_alignr_epi8(last, w[(k + 2) % 4], 4);  // words seven back
      w[k % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[k % 4], w[(k + 1) % 4]), seventh), last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool has_instructions() { return false; }
void add_blocks_fast(State& state, const uint8_t* blocks, size_t count) { add_blocks_plain(state, blocks, count); }

#endif

}  // namespace

Sha256::Sha256(Way way)
    : add_blocks_(way == Way::fastest && has_instructions() ? &add_blocks_fast : &add_blocks_plain) {}

void Sha256::add(const void* bytes, size_t count) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  while (count > 0) {
    const size_t filled = n_bytes_ % kBlock;
    size_t take = std::min(count, kBlock - filled);
    if (filled == 0 && count >= kBlock) {  // whole blocks where they are
      take = count / kBlock * kBlock;
      add_blocks_(state_, at, take / kBlock);
    } else {
      std::copy_n(at, take, pending_.begin() + static_cast<ptrdiff_t>(filled));
      if (filled + take == kBlock) add_blocks_(state_, pending_.data(), 1);
    }
    n_bytes_ += take;
    at += take;
    count -= take;
  }
}

std::string Sha256::hex() {
  const uint64_t n_bits = 8 * n_bytes_;
  const uint8_t one = 0x80;
  const uint8_t zero = 0;
  add(&one, 1);
  while (n_bytes_ % kBlock != kBlock - 8) add(&zero, 1);
  for (int shift = 56; shift >= 0; shift -= 8) {
    const auto byte = static_cast<uint8_t>(n_bits >> shift);
    add(&byte, 1);
  }
  static const char* const kDigits = "0123456789abcdef";
  std::string out;
  for (const uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4) out += kDigits[word >> shift & 15];
  return out;
}

}  // namespace segre
