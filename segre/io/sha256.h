#pragma once  // internal

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace segre {

/// SHA-256 (FIPS 180-4) of bytes added in pieces: by the processor's own instructions where it has them, which are
/// several times as fast as plain arithmetic.
class Sha256 {
 public:
  enum class Way { fastest, plain };
  explicit Sha256(Way way = Way::fastest);

  void add(const void* bytes, size_t count);
  /// The digest as 64 hexadecimal digits; nothing may be added afterwards.
  std::string hex();

 private:
  using State = std::array<uint32_t, 8>;

  void (*add_blocks_)(State& state, const uint8_t* blocks, size_t count);
  State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_{};
  uint64_t n_bytes_ = 0;
};

}  // namespace segre
