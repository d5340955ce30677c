#pragma once  // internal

#include "segre/core/philox.h"
#include "segre/core/rng.h"

namespace segre {

/// The random numbers of one generated item, drawn one by one: a pure function of the stream and the item's number, so
/// items do not depend on the caller, batch or thread that draws them. Uses only operations that every processor rounds
/// alike.
class ItemRandom {
 public:
  ItemRandom(const RandomStream& random, uint64_t item) : random_(random), counter_(item << kItemBits) {}

  /// 32 random bits.
  uint32_t word() {
    if (used_ == 4) {
      block_ = philox::block(random_.seed, random_.stream, counter_++);
      used_ = 0;
    }
    return block_.word[used_++];
  }
  /// Uniform on [0, 1).
  float uniform() { return philox::uniform(word()); }
  /// Uniform on [low, high).
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// Normal with this mean and standard deviation.
  float normal(float mean, float deviation) {
    const uint32_t first = word();
    float z_0;
    float z_1;
    philox::normal_pair(first, word(), z_0, z_1);
    return mean + deviation * z_0;
  }
  /// An integer from 0 to n - 1.
  int64_t below(int64_t n) { return static_cast<int64_t>((uint64_t{word()} * static_cast<uint64_t>(n)) >> 32); }
  /// True with this probability.
  bool chance(float probability) { return uniform() < probability; }

 private:
  static constexpr int kItemBits = 16;  // an item has 2^18 numbers of its own

  RandomStream random_;
  uint64_t counter_;
  philox::Block block_{};
  int used_ = 4;
};

}  // namespace segre
