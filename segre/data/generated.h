#pragma once

#include <functional>
#include <memory>

#include "segre/data/item_random.h"
#include "segre/data/source.h"

namespace segre {

/// Makes one item: fills `out`, n labels of at most 256 kinds, from its random numbers alone.
using DrawItem = std::function<void(ItemRandom random, uint8_t* out)>;

/// A source without end whose items are computed, several at a time on LibTorch's threads. rows() are those of `seed`.
/// items() are those of `seed` and the seed it is given, and never the same as rows(), so that held-out rows are held
/// out. InputError for a space with more than 256 labels.
std::unique_ptr<DataSource> make_generated_source(Space space, Purpose purpose, uint64_t seed, DrawItem draw);

}  // namespace segre
