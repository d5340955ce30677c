#include "segre/core/sha256.h"

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

}  // namespace

void Sha256::add_block(const uint8_t* block) {
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
  auto s = state_;
  for (size_t k = 0; k < 64; ++k) {
    const uint32_t e = s[4];
    const uint32_t a = s[0];
    const uint32_t t1 =
        s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + kRounds[k] + w[k];
    const uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {t1 + t2, a, s[1], s[2], s[3] + t1, e, s[5], s[6]};
  }
  for (size_t k = 0; k < 8; ++k) state_[k] += s[k];
}

void Sha256::add(const void* bytes, size_t count) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  while (count > 0) {
    const size_t filled = n_bytes_ % kBlock;
    const size_t take = std::min(count, kBlock - filled);
    std::copy_n(at, take, pending_.begin() + static_cast<ptrdiff_t>(filled));
    n_bytes_ += take;
    at += take;
    count -= take;
    if (filled + take == kBlock) add_block(pending_.data());
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
