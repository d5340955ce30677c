#pragma once  // internal

#include "segre/core/rng.h"

namespace segre {

/// The item at `position` in [0, n) of shuffle number `epoch`: a permutation that is computed, not stored. A Feistel
/// network on the smallest even number of bits that holds n is repeated until the value falls below n (at most four
/// times on average), so any position of any epoch is available at once and a resumed run needs no saved order.
int64_t shuffled(const RandomStream& random, uint64_t epoch, int64_t position, int64_t n);

}  // namespace segre
