#pragma once

#include "segre/core/rng.h"

namespace segre {

/// Where item `position` of [0, n) stands in shuffle number `epoch`: a permutation that is computed, not stored. A
/// Feistel network on the smallest even number of bits that holds n, walked until it falls below n (at most four
/// rounds of it on average), so any position of any epoch is had at once and a resumed run needs no saved order.
int64_t shuffled(const RandomStream& random, uint64_t epoch, int64_t position, int64_t n);

}  // namespace segre
